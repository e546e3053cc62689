"""The benchmark of histories asks every list there is."""

from drf_spectacular.generators import SchemaGenerator

from benchmarks.historylists import listings, unknown
from benchmarks.historyrows import Loaded


def test_every_route_and_every_filter_of_the_api_is_measured() -> None:
    description = SchemaGenerator().get_schema(request=None, public=True)
    assert not unknown(description), "say in benchmarks/historylists.py what is to be asked, or why nothing is"
    paths = {listing.path for listing in listings(description, Loaded(1, 9, 7, 1, 1, 1, 1, 1))}
    assert not [path for path in paths if "{" in path]
    description["paths"]["/api/v1/new"] = {"get": {"operationId": "new_list", "parameters": [
        {"name": "kind", "in": "query", "schema": {"type": "string"}}, {"name": "cursor", "in": "query", "schema": {}},
    ]}}  # fmt: skip
    assert unknown(description) == ["new_list: kind", "new_list: cursor"]
