-- What each node had given and used, a sample a minute. See controlplane/statestore/series/nodes.py.

-- block: node id / 64. data: 64 places of five little-endian int32, -1 where nothing is known.
CREATE TABLE statestore_nodeseries (
    block bigint NOT NULL,
    at timestamptz NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (block, at)
);
CREATE INDEX nodeseries_at ON statestore_nodeseries (at);
