// Made from the OpenAPI schema by `npm run api-types`; tests compare it. Do not edit.

export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * @description ``queues``: the first few in lists, ``queues_left_out``: how many more. ``tokens``: that are valid now.
         *     ``email``: where it gets mail of its jobs, if it wants any; "" for nowhere.
         */
        Account: {
            active: boolean;
            /** Format: date-time */
            created_at: string;
            /** @default  */
            email: string;
            id: number;
            last_login_at: string | null;
            queues: components["schemas"]["AccountQueue"][];
            /** @default 0 */
            queues_left_out: number;
            /** @enum {string} */
            role: "operator" | "tenant" | "viewer";
            token_used_at: string | null;
            tokens: number;
            username: string;
        };
        AccountPage: {
            next: string | null;
            previous: string | null;
            results: components["schemas"]["Account"][];
        };
        /** @description ``source``: ``grant`` is the account's own, ``policy`` names it or its role in the document in force. */
        AccountQueue: {
            /** @enum {string} */
            level: "submit" | "admin";
            path: string;
            /**
             * @default grant
             * @enum {string}
             */
            source: "grant" | "policy";
        };
        AccountRequest: {
            password: string;
            /**
             * @default tenant
             * @enum {string}
             */
            role?: "operator" | "tenant" | "viewer";
            username: string;
        };
        /** @description ``refused``: why nothing was asked for this job, empty where it was. */
        ActionResult: {
            accepted: boolean;
            job: number;
            refused: string;
        };
        ActionsAnswer: {
            accepted: number;
            results: components["schemas"]["ActionResult"][];
        };
        /** @description ``priority`` and ``queue`` belong to the actions of that name; ``message`` to a kill. */
        ActionsRequest: {
            /** @enum {string} */
            action: "kill" | "priority" | "queue";
            jobs: number[];
            /** @default  */
            message?: string;
            /** @default null */
            priority?: number | null;
            /** @default null */
            queue?: string | null;
        };
        /** @description ``asks`` that are not named stay as they are. ``after``: as for ``events``. */
        AllocateRequest: {
            /** @default null */
            after?: number | null;
            /** @default [] */
            asks?: components["schemas"]["AskSpec"][];
            /** @default [] */
            release?: string[];
        };
        /** @description 1000 ``vcores_milli`` are one core. */
        Amounts: {
            gpus: number;
            memory_mib: number;
            vcores_milli: number;
        };
        Artifact: {
            digest: string;
            size: number;
        };
        /**
         * @description Containers of one kind. Only ``target`` may change from call to call; the rest may be left out then.
         *
         *     ``target``: how many over the ask's whole life, so that repeating a call
         *     changes nothing; a lower one takes back what was not granted yet. ``gang``:
         *     all that is missing is granted at once, or none of it. With a ``command`` a
         *     granted container starts at once; without one it waits to be launched, and
         *     is taken back unless that comes soon.
         */
        AskSpec: {
            /** @default null */
            command?: string[] | string | null;
            /** @default {} */
            env?: {
                [key: string]: string;
            };
            /** @default 0 */
            estimated_duration_s?: number | string;
            /** @default [] */
            files?: components["schemas"]["FileSpec"][];
            /** @default false */
            gang?: boolean;
            /** @default 5 */
            grace_s?: number | string;
            /** @default null */
            health_check?: components["schemas"]["HealthCheckSpec"] | null;
            id: string;
            /**
             * @default {
             *       "nodes": [],
             *       "racks": [],
             *       "relax": true
             *     }
             */
            locality?: components["schemas"]["Locality"];
            /** @default  */
            node_labels?: string;
            /** @default [] */
            outputs?: components["schemas"]["OutputSpec"][];
            /** @default null */
            partition?: string | null;
            /** @default [] */
            ports?: components["schemas"]["PortSpec"][];
            /**
             * @default {
             *       "memory_mib": 256,
             *       "vcores_milli": 1000,
             *       "gpus": 0
             *     }
             */
            resources?: components["schemas"]["Resources"];
            /** @default [] */
            secrets?: components["schemas"]["SecretSpec"][];
            /** @default false */
            shell?: boolean;
            target: number;
            /** @default 0 */
            timeout_s?: number | string;
        };
        AuditEntry: {
            action: string;
            actor: string | null;
            address: string | null;
            after: unknown;
            /** Format: date-time */
            at: string;
            before: unknown;
            id: number;
            target: string;
        };
        AuditPage: {
            next: string | null;
            previous: string | null;
            results: components["schemas"]["AuditEntry"][];
        };
        /** @description ``outcome``: ``ends`` before the deadline, is ``stopped`` then, or ``unknown`` without an estimate. */
        BatchEnd: {
            container: string;
            ends_at: string | null;
            group: string;
            index: number;
            job: number;
            job_name: string;
            /** @enum {string} */
            outcome: "ends" | "stopped" | "unknown";
            owner: string;
            started_at: string | null;
        };
        /** @description ``warnings``: of all the jobs, at most 50; each job's own are among its events. */
        BulkIds: {
            ids: number[];
            /** @default [] */
            warnings: components["schemas"]["FieldError"][];
        };
        /** @description Up to 1000 jobs, stored all or none. */
        BulkSpec: {
            jobs: components["schemas"]["JobRequest"][];
        };
        /** @description One sub-cluster in the window. ``*_count``, ``jobs``, ``ended``: of how many the figures beside them are. */
        Compared: {
            allocation_latency_count: number;
            /** @description From submit to the task's first container */
            allocation_latency_p50_s: number | null;
            allocation_latency_p99_s: number | null;
            allocations_per_s: number;
            /** @description The version whose component policies hold there */
            components_version: number | null;
            ended: number;
            ended_per_s: number;
            failed: number;
            failures_per_min: number;
            /** @description From submit to the job's first container, or until now */
            job_wait_p50_s: number | null;
            job_wait_p99_s: number | null;
            /** @description That came in the window and have their home there */
            jobs: number;
            name: string;
            /** @description Now */
            pending: components["schemas"]["Amounts"];
            /**
             * @description Of each component the policy that holds there
             * @default {}
             */
            policies?: {
                [key: string]: string;
            };
            preempted: number;
            preemptions_per_min: number;
            round_count: number;
            /** @description Planning and committing a round */
            round_p50_ms: number | null;
            round_p99_ms: number | null;
            state: string;
            /** @description Now, of the scarcest resource, 0 to 1 */
            utilization: number | null;
        };
        Comparison: {
            /** Format: date-time */
            at: string;
            differs: components["schemas"]["Setting"][];
            sub_clusters: components["schemas"]["Compared"][];
            window_s: number;
        };
        /** @description ``remedy``: what to do, empty where all is good. ``facts``: numbers by name, units last; they differ by kind. */
        Component: {
            facts: {
                [key: string]: unknown;
            };
            /** @enum {string} */
            kind: "store" | "rm" | "gpg" | "web" | "worker" | "beat" | "nodes";
            name: string;
            remedy: string;
            text: string;
            /** @enum {string} */
            verdict: "good" | "warn" | "bad";
        };
        ComponentList: {
            next: string | null;
            previous: string | null;
            results: components["schemas"]["Component"][];
        };
        Container: {
            /** Format: date-time */
            allocated_at: string;
            attempt: number;
            cpu_ms: number | null;
            exit_code: number | null;
            finished_at: string | null;
            gpus: number[];
            group: string;
            id: string;
            index: number;
            job: number;
            memory_mib: number;
            node: string;
            peak_memory_mib: number | null;
            reason: string | null;
            started_at: string | null;
            /** @enum {string} */
            state: "ALLOCATED" | "LOCALIZING" | "RUNNING" | "SUCCEEDED" | "FAILED" | "KILLED" | "LOST";
            sub_cluster: string;
            vcores_milli: number;
        };
        ContainerPage: {
            next: string | null;
            previous: string | null;
            results: components["schemas"]["Container"][];
        };
        /** @description Containers, and what they take together. */
        Containers: {
            containers: number;
            gpus: number;
            memory_mib: number;
            vcores_milli: number;
        };
        /** @description What a container will be like that nobody asks for yet. ``partition``: null is the queue's own. */
        ContainerSpec: {
            /** @default null */
            partition?: string | null;
            /**
             * @default {
             *       "memory_mib": 256,
             *       "vcores_milli": 1000,
             *       "gpus": 0
             *     }
             */
            resources?: components["schemas"]["Resources"];
        };
        /** @description ``converged``: everything that is told to run the version does. */
        Convergence: {
            active: boolean;
            converged: boolean;
            kinds: components["schemas"]["KindConvergence"][];
            pushed_at: string | null;
            version: number;
        };
        Csrf: {
            csrf_token: string;
        };
        DecisionRequest: {
            /** @description What changes, and why; not blank */
            message: string;
        };
        /** @description ``now``: without waiting; what runs there is lost and starts again elsewhere. */
        DecommissionRequest: {
            /** @default 3600 */
            deadline_s?: number | null;
            /** @default  */
            message?: string;
            /** @default false */
            now?: boolean;
        };
        /** @description From a version (by default the one in force) to another one, or to a document. */
        DiffRequest: {
            /** @default null */
            document?: {
                [key: string]: unknown;
            } | null;
            /** @default null */
            from?: number | null;
            /** @default null */
            to?: number | null;
        };
        /** @description A task group of a live job, whose ``containers`` could start in no other sub-cluster, and ``why``. */
        DrainedGroup: {
            containers: number;
            group: string;
            job: number;
            name: string;
            owner: string;
            queue: string;
            why: string;
        };
        /**
         * @description A job that is live now and waits longer: so many ``containers`` of it, the last one by ``wait_s``. ``open``: not
         *     all had started when the simulation ended, so it waits longer still.
         */
        DrainedJob: {
            containers: number;
            job: number;
            name: string;
            open: boolean;
            owner: string;
            queue: string;
            wait_s: number;
        };
        /** @description Means over seeds. ``jobs`` and ``containers`` wait longer, ``wait_s`` on average. */
        DrainedQueue: {
            containers: number;
            jobs: number;
            queue: string;
            wait_s: number;
        };
        DrainPreview: {
            /** Format: date-time */
            at: string;
            batch: components["schemas"]["BatchEnd"][];
            deadline: string | null;
            ends: number;
            name: string;
            node: number;
            services: components["schemas"]["ServiceMove"][];
            services_fit: boolean;
            stopped: number;
            unknown: number;
        };
        /** @description ``deadline_s``: from now; what runs then is stopped. null: never. */
        DrainRequest: {
            /** @default 3600 */
            deadline_s?: number | null;
            /** @default  */
            message?: string;
        };
        DutyRequest: {
            /** @default  */
            message?: string;
        };
        /** @description ``email``: as its owner reads it; "" for none. */
        EmailRequest: {
            email: string;
        };
        /**
         * @description ``healthy``: null before the first verdict and without a health check. ``proxy``: its path on this server.
         *
         *     revision: of what its service runs there.
         */
        Endpoint: {
            /** Format: date-time */
            checked_at: string;
            container: string;
            group: string;
            healthy: boolean | null;
            host: string;
            index: number;
            name: string;
            node: string;
            port: number;
            proxy: string;
            /** @default 1 */
            revision: number;
        };
        EndpointPage: {
            next: string | null;
            previous: string | null;
            results: components["schemas"]["Endpoint"][];
        };
        Event: {
            /** Format: date-time */
            at: string;
            id: number;
            kind: string;
            message: string;
        };
        EventPage: {
            next: string | null;
            previous: string | null;
            results: components["schemas"]["Event"][];
        };
        /** @description ``socket``: the path of the WebSocket to open within half a minute; frames are those of ``wire.execs``. */
        ExecBegun: {
            container: string;
            id: number;
            node: string;
            socket: string;
        };
        /** @description ``tty``: on a terminal of this size and type; without one, stdout and stderr come apart. */
        ExecRequest: {
            /** @default 80 */
            columns?: number;
            command: string[];
            /** @default 24 */
            rows?: number;
            /** @default xterm */
            term?: string;
            /** @default false */
            tty?: boolean;
        };
        /**
         * @description One thing wrong with a request. ``field``: dotted path in the body, or a parameter's name.
         *
         *     ``group``: the name of the task group it is in. ``line``, ``column``: where it stands in the text that was sent or
         *     read, from 1; 0 where nobody knows.
         */
        FieldError: {
            /** @default 0 */
            column: number;
            field: string;
            /** @default  */
            group: string;
            /** @default 0 */
            line: number;
            message: string;
            /** @default  */
            remedy: string;
        };
        /** @description An uploaded artifact to place at ``path`` in the work folder; ``mode`` as for chmod, in decimal. */
        FileSpec: {
            digest: string;
            /** @default 420 */
            mode?: number;
            path: string;
            /** @default 0 */
            size?: number;
        };
        Finished: {
            message: string;
            status: string;
        };
        /** @description How the job ends. What else of it runs is stopped; the master may take half a minute to end itself. */
        FinishRequest: {
            /** @default  */
            message?: string;
            /** @enum {string} */
            status: "SUCCEEDED" | "FAILED";
        };
        Fleet: {
            /** @description Unix seconds */
            at: number;
            /** @description Only one's own containers are counted, for those who do not see everything */
            own: boolean;
            standings: string[];
            sub_clusters: components["schemas"]["FleetSubCluster"][];
            whole: number;
        };
        /** @description One number a node, in order: base64 of little-endian unsigned integers. Shares are parts of ``whole``. */
        FleetColumns: {
            /** @description 16 bits */
            containers: string;
            /** @description 8 bits: allocated share */
            cores: string;
            /** @description 8 bits: allocated share */
            gpus: string;
            /** @description 8 bits: 1 where a reservation holds what is free for one ask */
            held: string;
            /** @description 8 bits: allocated share */
            memory: string;
            /** @description 32 bits: 0 while the node reports, else the Unix second of its last report; 1: unknown */
            silent: string;
            /** @description 8 bits: index into `standings` */
            standing: string;
            /** @description 8 bits: used share */
            used_cores: string;
            /** @description 8 bits: used share */
            used_memory: string;
        };
        /** @description A sub-cluster's nodes by rack and name. ``racks`` and ``kind`` are runs: a value, how many nodes, a value, ... */
        FleetSubCluster: {
            columns: components["schemas"]["FleetColumns"];
            /** @description The first node's number, then each one's difference to the one before it */
            ids: number[];
            /** @description Indexes into `kinds` */
            kind: number[];
            kinds: components["schemas"]["NodeKind"][];
            name: string;
            names: string[];
            racks: (string | number)[];
            state: string;
        };
        /** @description ``ports``: of the container, that streams of the exec are to be brought to. */
        ForwardRequest: {
            ports: number[];
        };
        /**
         * @description A line of what a task has written that holds the text looked for.
         *
         *     offset: bytes of the stream before it. text: of a long line some 500 characters around it, then ``cut``.
         */
        FoundLine: {
            /** Format: date-time */
            at: string;
            attempt: number;
            container: string;
            cut: boolean;
            group: string;
            index: number;
            offset: number;
            /** @enum {string} */
            stream: "stdout" | "stderr";
            text: string;
        };
        /** @description ``searched``: bytes that were looked through for it. A page may hold no line, and yet not be the last. */
        FoundLinePage: {
            next: string | null;
            previous: string | null;
            results: components["schemas"]["FoundLine"][];
            searched: number;
        };
        /** @description ``restarting``: tasks of a service that are to start again, as somebody wanted, and have not yet. */
        Group: {
            after: string[];
            count: number;
            failed: number;
            finished_at: string | null;
            killed: number;
            name: string;
            no: number;
            pending: number;
            reason: components["schemas"]["WaitReason"] | null;
            resources: components["schemas"]["Amounts"];
            /** @default 0 */
            restarting: number;
            retried: number;
            running: number;
            started_at: string | null;
            /** @enum {string} */
            state: "WAITING" | "PENDING" | "RUNNING" | "SUCCEEDED" | "FAILED" | "KILLED";
            succeeded: number;
        };
        /** @description reason: null where nothing of the group waits, or its resource manager has not answered yet. */
        GroupExplanation: {
            as_of: string | null;
            elsewhere: components["schemas"]["WaitElsewhere"][];
            name: string;
            no: number;
            pending: number;
            reason: components["schemas"]["WaitReason"] | null;
            state: string;
        };
        /**
         * @description Tasks of one command and shape.
         *
         *     ``gang``: all containers it wants at once, or none. ``parallelism``: quota
         *     for so many must be free before the job begins, where operators want it (0:
         *     none; of a gang all). ``partition``: null is the queue's own, "" the nodes
         *     of none. ``placement``: null is the cluster's. ``array``: values that differ
         *     from task to task; it decides the count.
         */
        GroupSpec: {
            /** @default [] */
            after?: string[];
            /** @default {} */
            array?: {
                [key: string]: (string | number | boolean)[];
            } | {
                [key: string]: string | number | boolean;
            }[];
            command: string[] | string;
            /** @default 1 */
            count?: number;
            /** @default {} */
            env?: {
                [key: string]: string;
            };
            /** @default 0 */
            estimated_duration_s?: number | string;
            /**
             * @default guaranteed
             * @enum {string}
             */
            execution_type?: "guaranteed" | "opportunistic";
            /** @default [] */
            files?: components["schemas"]["FileSpec"][];
            /** @default false */
            gang?: boolean;
            /** @default 5 */
            grace_s?: number | string;
            /** @default null */
            health_check?: components["schemas"]["HealthCheckSpec"] | null;
            /** @default [] */
            inputs?: components["schemas"]["InputSpec"][];
            /**
             * @default {
             *       "nodes": [],
             *       "racks": [],
             *       "relax": true
             *     }
             */
            locality?: components["schemas"]["Locality"];
            name: string;
            /** @default  */
            node_labels?: string;
            /** @default [] */
            outputs?: components["schemas"]["OutputSpec"][];
            /** @default 0 */
            parallelism?: number;
            /** @default null */
            partition?: string | null;
            /** @default null */
            placement?: ("spread" | "pack") | null;
            /** @default [] */
            ports?: components["schemas"]["PortSpec"][];
            /**
             * @default {
             *       "memory_mib": 256,
             *       "vcores_milli": 1000,
             *       "gpus": 0
             *     }
             */
            resources?: components["schemas"]["Resources"];
            /** @default 0 */
            retries?: number;
            /** @default [] */
            secrets?: components["schemas"]["SecretSpec"][];
            /** @default false */
            shell?: boolean;
            /** @default 0 */
            timeout_s?: number | string;
        };
        /**
         * @description Of a group's attempts that have ended, what they used, beside what each asks for now.
         *
         *     attempts: those that were looked at; measured: of these, those whose peak of memory is known. ``*_vcores_milli``:
         *     cores that an attempt was busy with on average while it ran, in thousandths; ``p95``: what 95 % did not exceed.
         *     ``better_*``: a size that would do, null where the one asked for may stay. hint: that size in words, or why none is
         *     given.
         */
        GroupUsage: {
            attempts: number;
            better_memory_mib: number | null;
            better_vcores_milli: number | null;
            group: string;
            hint: string;
            mean_vcores_milli: number;
            measured: number;
            memory_mib: number;
            p95_memory_mib: number;
            p95_vcores_milli: number;
            peak_memory_mib: number;
            vcores_milli: number;
        };
        /** @description Bounds on what the stages' sub-clusters may do; one that is left out is not looked at. */
        Guards: {
            /**
             * @description of the allocations per second there were before, the share that may be missing
             * @default null
             */
            allocation_rate_drop?: number | null;
            /**
             * @description of the containers that end, those that fail
             * @default null
             */
            failure_share?: number | null;
            /**
             * @description containers that fail per minute
             * @default null
             */
            failures_per_min?: number | null;
            /**
             * @description 99 % of the jobs that came since wait no longer than this
             * @default null
             */
            pending_p99_s?: number | null;
            /**
             * @description of the utilization there was before, the share that may be missing
             * @default null
             */
            utilization_drop?: number | null;
        };
        Health: {
            status: string;
            stores: {
                [key: string]: string;
            };
        };
        /** @description How the node asks whether a container serves: ``http`` is a path to GET, ``tcp`` a mere connection. */
        HealthCheckSpec: {
            /** @default 3 */
            failures?: number;
            /** @default null */
            http?: string | null;
            /** @default 10 */
            interval_s?: number | string;
            port: string;
            /** @default 30 */
            start_s?: number | string;
            /** @default false */
            tcp?: boolean;
            /** @default 3 */
            timeout_s?: number | string;
        };
        /** @description Containers of a queue that leave and would wait, as the maxima of the queue, or of one above it, are reached. */
        HeldBack: {
            containers: number;
            queue: string;
        };
        /** @description Outputs ``name`` of every task of ``group``, placed as ``path``; ``{index}`` is the producing task's. */
        InputSpec: {
            group: string;
            name: string;
            path: string;
        };
        Job: {
            admitted_at: string | null;
            finished_at: string | null;
            groups: components["schemas"]["Group"][];
            home: string;
            id: number;
            /** @enum {string} */
            kind: "batch" | "service" | "application";
            message: string;
            name: string;
            owner: string;
            priority: number;
            queue: string;
            retry_of: number | null;
            started_at: string | null;
            /** @enum {string} */
            state: "SUBMITTED" | "ADMITTED" | "RUNNING" | "KILLING" | "SUCCEEDED" | "FAILED" | "KILLED";
            /** Format: date-time */
            submitted_at: string;
            tags: string[];
            waiting: string | null;
        };
        /**
         * @description ``spec``: the job with every default filled in. Amounts: of all its tasks together.
         *
         *     warnings: what keeps it from ever starting, by the nodes there are, and names that nobody has.
         */
        JobChecked: {
            gpus: number;
            groups: number;
            memory_mib: number;
            /** @default null */
            outlook: components["schemas"]["Outlook"] | null;
            priority: number;
            queue: string;
            spec: {
                [key: string]: unknown;
            };
            tasks: number;
            vcores_milli: number;
            /** @default [] */
            warnings: components["schemas"]["FieldError"][];
        };
        /**
         * @description ``tracking``: path on this server of the page that the application's master has named, while the job lives.
         *
         *     revision: of what a service runs, from 1; rollout: to it, while some tasks run another one.
         *     schedule: that started it, while there is such a schedule.
         */
        JobDetail: {
            admitted_at: string | null;
            finished_at: string | null;
            groups: components["schemas"]["Group"][];
            home: string;
            id: number;
            /** @enum {string} */
            kind: "batch" | "service" | "application";
            message: string;
            name: string;
            owner: string;
            priority: number;
            queue: string;
            retry_of: number | null;
            /** @default 1 */
            revision: number;
            /** @default null */
            rollout: components["schemas"]["RolloutState"] | null;
            /** @default null */
            schedule: components["schemas"]["JobSchedule"] | null;
            spec: {
                [key: string]: unknown;
            };
            started_at: string | null;
            /** @enum {string} */
            state: "SUBMITTED" | "ADMITTED" | "RUNNING" | "KILLING" | "SUCCEEDED" | "FAILED" | "KILLED";
            /** Format: date-time */
            submitted_at: string;
            tags: string[];
            /** @default null */
            tracking: string | null;
            waiting: string | null;
        };
        JobExplanation: {
            groups: components["schemas"]["GroupExplanation"][];
            job: number;
            state: string;
            waiting: string | null;
        };
        JobPage: {
            next: string | null;
            previous: string | null;
            results: components["schemas"]["Job"][];
        };
        /**
         * @description A job in a sub-cluster. ``first_at``: when the first container was granted there; ``last_at``: when the last of
         *     them ended, null while one lives. ``running``: of ``containers``, those that have not ended.
         */
        JobPlace: {
            containers: number;
            /** Format: date-time */
            first_at: string;
            last_at: string | null;
            running: number;
            sub_cluster: string;
        };
        /** @description Where a job was given containers, the first place first. ``complete``: whether all of them were counted. */
        JobPlaces: {
            complete: boolean;
            results: components["schemas"]["JobPlace"][];
        };
        /**
         * @description A receiver that is told of a job. events: of which; waiting, sent, given_up: what became of those so far.
         *
         *     error: why the last that failed did, or why nothing is told; next_at: when it is tried again after that.
         */
        JobReceiver: {
            error: string;
            events: string[];
            given_up: number;
            next_at: string | null;
            receiver: string;
            sent: number;
            waiting: number;
        };
        JobReceiverList: {
            next: string | null;
            previous: string | null;
            results: components["schemas"]["JobReceiver"][];
        };
        /**
         * @description A job as it is sent: ``${{ name }}`` in any of its texts stands for the value of a parameter.
         *
         *     ``parameters``: by name a default, null where it has to be given, or its type, default and help. ``set``: values.
         */
        JobRequest: {
            /** @default [] */
            files?: components["schemas"]["FileSpec"][];
            /** @default [] */
            groups?: components["schemas"]["GroupSpec"][];
            /**
             * @default batch
             * @enum {string}
             */
            kind?: "batch" | "service" | "application";
            /** @default null */
            master?: components["schemas"]["MasterSpec"] | null;
            name: string;
            /** @default [] */
            notify?: components["schemas"]["NotifySpec"][];
            /** @default {} */
            parameters?: {
                [key: string]: string | number | boolean | null | {
                    default?: string | number | boolean | null;
                    help?: string;
                    /**
                     * @default text
                     * @enum {unknown}
                     */
                    type?: "text" | "number" | "boolean";
                };
            };
            /** @default null */
            priority?: number | null;
            /** @default root.default */
            queue?: string;
            /** @default {} */
            set?: {
                [key: string]: string | number | boolean;
            };
            /** @default [] */
            tags?: string[];
        };
        /** @description The schedule that started a job, and the time for which it did. */
        JobSchedule: {
            /** Format: date-time */
            at: string;
            id: number;
            name: string;
        };
        /** @description ``warnings``: what keeps it from ever starting, by the nodes there are, and names that nobody has. */
        JobSubmitted: {
            admitted_at: string | null;
            finished_at: string | null;
            groups: components["schemas"]["Group"][];
            home: string;
            id: number;
            /** @enum {string} */
            kind: "batch" | "service" | "application";
            message: string;
            name: string;
            owner: string;
            priority: number;
            queue: string;
            retry_of: number | null;
            started_at: string | null;
            /** @enum {string} */
            state: "SUBMITTED" | "ADMITTED" | "RUNNING" | "KILLING" | "SUCCEEDED" | "FAILED" | "KILLED";
            /** Format: date-time */
            submitted_at: string;
            tags: string[];
            waiting: string | null;
            /** @default [] */
            warnings: components["schemas"]["FieldError"][];
        };
        /**
         * @description ``unchanged``: it runs what was asked for already, and nothing was begun. warnings: as of a submit. changes:
         *     as of a revision, from what it runs.
         */
        JobUpdated: {
            admitted_at: string | null;
            /** @default [] */
            changes: string[];
            finished_at: string | null;
            groups: components["schemas"]["Group"][];
            home: string;
            id: number;
            /** @enum {string} */
            kind: "batch" | "service" | "application";
            message: string;
            name: string;
            owner: string;
            priority: number;
            queue: string;
            retry_of: number | null;
            /** @default 1 */
            revision: number;
            /** @default null */
            rollout: components["schemas"]["RolloutState"] | null;
            /** @default null */
            schedule: components["schemas"]["JobSchedule"] | null;
            spec: {
                [key: string]: unknown;
            };
            started_at: string | null;
            /** @enum {string} */
            state: "SUBMITTED" | "ADMITTED" | "RUNNING" | "KILLING" | "SUCCEEDED" | "FAILED" | "KILLED";
            /** Format: date-time */
            submitted_at: string;
            tags: string[];
            /** @default null */
            tracking: string | null;
            /** @default false */
            unchanged: boolean;
            waiting: string | null;
            /** @default [] */
            warnings: components["schemas"]["FieldError"][];
        };
        /** @description Each group of a job, in its order. ``complete``: whether all attempts that have ended were looked at. */
        JobUsage: {
            complete: boolean;
            results: components["schemas"]["GroupUsage"][];
        };
        /** @description ``token`` is shown this once. */
        JoinToken: {
            /** Format: date-time */
            expires_at: string;
            id: number;
            node: string;
            sub_cluster: string;
            token: string;
        };
        /**
         * @description ``kind``: what it registers. ``sub_cluster``: of nodes, or the only name a new one may have; empty for any.
         *
         *     ``node``: the only node it registers, and once; empty for any new one.
         */
        JoinTokenLine: {
            /** Format: date-time */
            created_at: string;
            expires_at: string | null;
            id: number;
            /** @enum {string} */
            kind: "node" | "sub_cluster";
            node: string;
            note: string;
            sub_cluster: string;
        };
        JoinTokenList: {
            next: string | null;
            previous: string | null;
            results: components["schemas"]["JoinTokenLine"][];
        };
        /** @description ``node``: the only name it registers, once, even where another machine has it; empty: any new one. */
        JoinTokenRequest: {
            /** @default  */
            node?: string;
            /** @default  */
            note?: string;
            /** @default 86400 */
            valid_s?: number;
        };
        /** @description What an account keeps of artifacts, and what it may; null: as much as it likes. Sizes in bytes. */
        Kept: {
            files: number;
            files_max: number | null;
            size: number;
            size_max: number | null;
        };
        /** @description ``output``: null of what was uploaded, or whose job is forgotten. */
        KeptArtifact: {
            /** Format: date-time */
            created_at: string;
            digest: string;
            /** Format: date-time */
            last_used_at: string;
            output: components["schemas"]["MadeBy"] | null;
            size: number;
        };
        KeptArtifactPage: {
            kept: components["schemas"]["Kept"];
            next: string | null;
            previous: string | null;
            results: components["schemas"]["KeptArtifact"][];
        };
        KillRequest: {
            /** @default  */
            message?: string;
        };
        /**
         * @description One kind of part. ``told``: those that are to run the version; ``laggards``: of them, some that do not.
         *
         *     ``since``: when the last of those that run it took it in. The seconds are
         *     from the push on, of parts that were there when it came; those of nodes are
         *     rounded up to two digits, ``max_s`` is not.
         */
        KindConvergence: {
            behind: number;
            /** @enum {string} */
            kind: "rm" | "router" | "gpg" | "node";
            /** @description At most 100; nodes as sub-cluster/name */
            laggards: string[];
            max_s: number | null;
            on_version: number;
            p50_s: number | null;
            p99_s: number | null;
            since: string | null;
            told: number;
            total: number;
            versions: components["schemas"]["VersionCount"][];
        };
        Launched: {
            containers: string[];
        };
        LaunchRequest: {
            launches: components["schemas"]["LaunchSpec"][];
        };
        /** @description A container that was granted, and what it is to run. ``tag``: comes back with what is told of it. */
        LaunchSpec: {
            command: string[] | string;
            container: string;
            /** @default {} */
            env?: {
                [key: string]: string;
            };
            /** @default [] */
            files?: components["schemas"]["FileSpec"][];
            /** @default 5 */
            grace_s?: number | string;
            /** @default [] */
            outputs?: components["schemas"]["OutputSpec"][];
            /** @default [] */
            secrets?: components["schemas"]["SecretSpec"][];
            /** @default false */
            shell?: boolean;
            /** @default  */
            tag?: string;
            /** @default 0 */
            timeout_s?: number | string;
        };
        /**
         * @description ``parent``: a position, -1 at the root. ``flags``: 1 leaf, 2 stopped, 4 open to all, 8 you may submit,
         *     16 not preemptable, 32 you administer it. ``see``: 1 its name only, 2 limits and your own part, 3 all of it.
         */
        LayoutColumns: {
            flags: number[];
            guaranteed: number[][];
            maximum: number[][];
            name: string[];
            parent: number[];
            see: number[];
            weight: (number | null)[];
        };
        Left: {
            containers: number;
            jobs: number;
        };
        /** @description Where tasks would rather run; without ``relax`` nowhere else. */
        Locality: {
            /** @default [] */
            nodes?: string[];
            /** @default [] */
            racks?: string[];
            /** @default true */
            relax?: boolean;
        };
        Login: {
            expiry: string | null;
            token: string;
            user: components["schemas"]["Me"];
        };
        LoginRequest: {
            password: string;
            username: string;
        };
        /** @description What a container wrote to one stream, as it came in one piece. */
        LogPart: {
            at: string | null;
            data: string;
            offset: number;
            skipped: number;
            /** @enum {string} */
            stream: "stdout" | "stderr";
        };
        LogPiece: {
            complete: boolean;
            data: string;
            next_offset: number;
            offset: number;
            skipped: number;
        };
        /** @description A task's output: of the account's jobs that are still kept, one that left these bytes. */
        MadeBy: {
            group: string;
            index: number;
            job: number;
            name: string;
        };
        /** @description ``state``: planned, active (from the lead time on), over or cancelled. ``nodes``: how many it is about. */
        Maintenance: {
            /** Format: date-time */
            created_at: string;
            created_by: string | null;
            /** Format: date-time */
            ends_at: string;
            id: number;
            labels: string;
            lead_s: number;
            message: string;
            node: string;
            nodes: number;
            rack: string;
            /** Format: date-time */
            starts_at: string;
            /** @enum {string} */
            state: "planned" | "emptying" | "active" | "over" | "cancelled";
            sub_cluster: string;
        };
        MaintenanceList: {
            next: string | null;
            previous: string | null;
            results: components["schemas"]["Maintenance"][];
        };
        /** @description One of ``node``, ``rack`` and ``labels`` says which nodes of the sub-cluster. Times with their zone. */
        MaintenanceRequest: {
            /** Format: date-time */
            ends_at: string;
            /** @default  */
            labels?: string;
            /** @default 600 */
            lead_s?: number;
            /** @default  */
            message?: string;
            /** @default  */
            node?: string;
            /** @default  */
            rack?: string;
            /** Format: date-time */
            starts_at: string;
            sub_cluster: string;
        };
        /** @description ``held``: granted first, launched later. ``granted``: containers so far, ended ones too. */
        MasterAsk: {
            granted: number;
            held: boolean;
            id: string;
            target: number;
            version: number;
        };
        /** @description A live container of the job. ``launched``: false while it waits to be told what to run. */
        MasterContainer: {
            /** Format: date-time */
            allocated_at: string;
            ask: string;
            container: string;
            index: number;
            launched: boolean;
            node: string;
            started_at: string | null;
            state: string;
            tag: string;
        };
        /**
         * @description ``kind``: granted, started, ended, warned (it will be stopped) or spared (it will not after all).
         *
         *     ``granted``: so many containers of the ask were granted up to this one. Grants come in no order of ``index``.
         */
        MasterEvent: {
            ask: string;
            /** Format: date-time */
            at: string;
            container: string;
            /** @default null */
            exit_code?: number | null;
            /** @default null */
            expires_in_s?: number | null;
            /** @default null */
            granted?: number | null;
            index: number;
            kind: string;
            /** @default null */
            launch?: boolean | null;
            /** @default null */
            message?: string | null;
            /** @default null */
            node?: string | null;
            /** @default null */
            rack?: string | null;
            /** @default null */
            reason?: string | null;
            seq: number;
            /** @default null */
            state?: string | null;
            /** @default null */
            stops_in_s?: number | null;
            /** @default null */
            tag?: string | null;
        } & {
            [key: string]: unknown;
        };
        /** @description ``missed``: events after yours are gone, for there were very many; register again. */
        MasterEvents: {
            cursor: number;
            events: components["schemas"]["MasterEvent"][];
            missed: boolean;
        };
        MasterFile: {
            digest: string;
            mode: number;
            path: string;
            size: number;
        };
        /** @description ``asks``: different ids. ``containers``: wanted or running at once. ``grant_s``: until a grant is taken back. */
        MasterLimits: {
            asks: number;
            containers: number;
            grant_s: number;
            requests: string;
        };
        /**
         * @description The tenant's own application master: one container, which asks for the job's others. ``retries``: of itself.
         *
         *     ``parallelism``: quota for the master and so many of ``container`` must be
         *     free before the job begins, where operators want it (0: none).
         */
        MasterSpec: {
            command: string[] | string;
            /** @default null */
            container?: components["schemas"]["ContainerSpec"] | null;
            /** @default {} */
            env?: {
                [key: string]: string;
            };
            /** @default [] */
            files?: components["schemas"]["FileSpec"][];
            /** @default 5 */
            grace_s?: number | string;
            /** @default null */
            health_check?: components["schemas"]["HealthCheckSpec"] | null;
            /**
             * @default {
             *       "nodes": [],
             *       "racks": [],
             *       "relax": true
             *     }
             */
            locality?: components["schemas"]["Locality"];
            /** @default  */
            node_labels?: string;
            /** @default [] */
            outputs?: components["schemas"]["OutputSpec"][];
            /** @default 0 */
            parallelism?: number;
            /** @default null */
            partition?: string | null;
            /** @default [] */
            ports?: components["schemas"]["PortSpec"][];
            /**
             * @default {
             *       "memory_mib": 256,
             *       "vcores_milli": 1000,
             *       "gpus": 0
             *     }
             */
            resources?: components["schemas"]["Resources"];
            /** @default 1 */
            retries?: number;
            /** @default [] */
            secrets?: components["schemas"]["SecretSpec"][];
            /** @default false */
            shell?: boolean;
            /** @default 0 */
            timeout_s?: number | string;
        };
        /** @description ``version``: of the shares, 0 without. ``goes_by``: the version its resource manager goes by. */
        MatrixPlace: {
            capacity: number[];
            counts: boolean;
            free: number[] | null;
            goes_by: number;
            load_age_s: number | null;
            name: string;
            shares_age_s: number | null;
            stale: boolean;
            state: string;
            version: number;
        };
        /** @description ``share`` and its neighbours: per place, one number per resource. ``rules``: per place, of ``resource``. */
        MatrixRow: {
            guaranteed: number[];
            guaranteed_part: number[][];
            leaf: boolean;
            maximum: number[];
            path: string;
            pending: number[][];
            resource: string;
            rules: ("demand" | "idle" | "vain" | "maximum" | "guarantee" | "capacity" | "weight" | "size" | "none")[];
            share: number[][];
            used: number[][];
        };
        MatrixSettings: {
            interval_s: number;
            policy: string;
            stale_s: number;
        };
        /** @description ``email``: where mail of your jobs goes, as an operator set it; "" for nowhere. */
        Me: {
            /** @default  */
            email: string;
            id: number;
            queues: components["schemas"]["QueueGrant"][];
            /** @enum {string} */
            role: "operator" | "tenant" | "viewer";
            username: string;
        };
        /** @description What runs really takes, as nodes measured it. */
        Measured: {
            cpu_milli: number;
            memory_mib: number;
        };
        /** @description Both streams, in the order in which their pieces came, about a second apart. */
        MergedLog: {
            complete: boolean;
            next: string;
            pieces: components["schemas"]["LogPart"][];
        };
        MoveRequest: {
            queue: string;
        };
        /** @description ``token`` is shown this once. */
        NewToken: {
            expires_at: string | null;
            key: string;
            name: string;
            token: string;
        };
        /** @description ``duty``: what operators want of it. ``drained``: it, or its sub-cluster, was to be emptied, and it is. */
        Node: {
            allocated: components["schemas"]["Amounts"];
            capacity: components["schemas"]["Amounts"];
            containers: number;
            deadline: string | null;
            drained: boolean;
            /** @enum {string} */
            duty: "in_service" | "cordoned" | "draining" | "decommissioned";
            duty_at: string | null;
            duty_by: string | null;
            enforces: string[];
            health: string[];
            health_text: string;
            host: string;
            id: number;
            labels: {
                [key: string]: string;
            };
            last_seen_s: number | null;
            maintenance: components["schemas"]["NodeMaintenance"] | null;
            message: string;
            name: string;
            rack: string;
            /** @enum {string} */
            state: "REGISTERED" | "UP" | "UNHEALTHY" | "LOST" | "DECOMMISSIONED";
            sub_cluster: string;
            /** @enum {string} */
            sub_cluster_state: "joining" | "running" | "draining" | "lost" | "decommissioned";
            used: components["schemas"]["Measured"] | null;
            version: string;
        };
        NodeContainer: {
            /** Format: date-time */
            allocated_at: string;
            attempt: number;
            gpus: number[];
            group: string;
            id: string;
            index: number;
            job: number;
            job_name: string;
            memory_mib: number;
            owner: string;
            queue: string;
            started_at: string | null;
            state: string;
            /** @description As last sampled */
            used_memory_mib: number | null;
            vcores_milli: number;
        };
        NodeContainerPage: {
            next: string | null;
            previous: string | null;
            results: components["schemas"]["NodeContainer"][];
        };
        /** @description What nodes of a sub-cluster have in common. */
        NodeKind: {
            capacity: components["schemas"]["Amounts"];
            labels: {
                [key: string]: string;
            };
        };
        /** @description The present or next window. ``active``: the node is kept from new work for it. */
        NodeMaintenance: {
            active: boolean;
            /** Format: date-time */
            ends_at: string;
            id: number;
            message: string;
            /** Format: date-time */
            starts_at: string;
        };
        NodePage: {
            next: string | null;
            previous: string | null;
            results: components["schemas"]["Node"][];
        };
        /** @description ``event``: what is told of the job; ``test`` of none. tried_at, error: of the last of its attempts. */
        Notification: {
            /** Format: date-time */
            at: string;
            attempts: number;
            error: string;
            /** @enum {string} */
            event: "started" | "succeeded" | "failed" | "killed" | "test";
            id: number;
            job: components["schemas"]["NotifiedJob"] | null;
            /** @enum {string} */
            state: "waiting" | "sent" | "given_up";
            tried_at: string | null;
        };
        NotificationPage: {
            next: string | null;
            previous: string | null;
            results: components["schemas"]["Notification"][];
        };
        NotifiedJob: {
            id: number;
            name: string;
        };
        /** @description Tell the owner's ``receiver`` when the job begins, or ends in one of these ways. */
        NotifySpec: {
            /**
             * @default [
             *       "succeeded",
             *       "failed",
             *       "killed"
             *     ]
             */
            events?: ("started" | "succeeded" | "failed" | "killed")[];
            receiver: string;
        };
        /** @description ``percent``: of its fullest resource, now and once it has taken its part of what leaves. */
        OtherSubCluster: {
            allocated: components["schemas"]["Amounts"];
            capacity: components["schemas"]["Amounts"];
            nodes: number;
            percent: number;
            percent_after: number;
            sub_cluster: string;
        };
        OthersUse: {
            /** @description Rounded down to steps of this part of the capacity */
            step: number;
            used: number[];
        };
        /**
         * @description What would become of a job that is submitted now.
         *
         *     home: the sub-cluster that would take it, null where none does now; why: the words of that choice. admitted: whether
         *     it may begin now; limits: those that do not let it, and that nothing takes work, in words. jobs_ahead: jobs of its
         *     queue that wait before it, null for accounts that see only their own part of the queue. estimate: of its first
         *     container, from now.
         */
        Outlook: {
            admitted: boolean;
            estimate: components["schemas"]["WaitEstimate"];
            home: string | null;
            jobs_ahead: number | null;
            limits: string[];
            sub_clusters: components["schemas"]["SubClusterFit"][];
            why: string;
        };
        Output: {
            container: string;
            digest: string;
            group: string;
            index: number;
            name: string;
            path: string;
            size: number;
        };
        OutputPage: {
            next: string | null;
            previous: string | null;
            results: components["schemas"]["Output"][];
        };
        /** @description The file ``path`` a task leaves behind, kept as ``name``. */
        OutputSpec: {
            name: string;
            /** @default false */
            optional?: boolean;
            path: string;
        };
        OverridePage: {
            next: string | null;
            previous: string | null;
            results: components["schemas"]["PolicyOverride"][];
        };
        /** @description A field of a queue that has another value for a time. ``starts_at`` null: at once. ``partition``: of a limit. */
        OverrideRequest: {
            change: components["schemas"]["To"] | components["schemas"]["Percent"];
            /** Format: date-time */
            ends_at: string;
            /** @enum {string} */
            field: "guaranteed" | "maximum" | "weight" | "user_maximum" | "max_running_jobs" | "max_running_jobs_per_user" | "max_live_jobs_per_user" | "max_live_tasks_per_user" | "max_live_mib_per_user";
            /** @description What changes, and why; not blank */
            message: string;
            /** @default  */
            partition?: string;
            queue: string;
            /** @default null */
            starts_at?: string | null;
        };
        /**
         * @description ``scope``: ``own`` where what is allocated and waiting is the reader's own part. ``queues``: the highest.
         *
         *     ``queues_left_out``: how many more the reader may see.
         */
        Overview: {
            allocated: components["schemas"]["Amounts"];
            at: number;
            capacity: components["schemas"]["Amounts"];
            duties: {
                [key: string]: number;
            };
            jobs: {
                [key: string]: number;
            };
            live_containers: number;
            nodes: {
                [key: string]: number;
            };
            pending: components["schemas"]["Containers"];
            policy_version: number | null;
            queues: components["schemas"]["Queue"][];
            queues_left_out: number;
            /** @enum {string} */
            scope: "all" | "own";
            sub_clusters: components["schemas"]["SubCluster"][];
            used: components["schemas"]["Measured"];
        };
        PartitionLimits: {
            guaranteed: components["schemas"]["Amounts"];
            maximum: components["schemas"]["Amounts"];
        };
        /** @description ``current``: as it is now. */
        PasswordChange: {
            current: string;
            password: string;
        };
        PasswordReset: {
            password: string;
        };
        /** @description More (or, below 0, less) than the document says by so many hundredths of that. */
        Percent: {
            percent: number;
        };
        /**
         * @description ``moved``: the change of its dominant share, of all there is. ``before``: null where the queue is new; ``after``:
         *     null where it goes.
         */
        PlanQueue: {
            after: components["schemas"]["PlanSide"] | null;
            before: components["schemas"]["PlanSide"] | null;
            leaf: boolean;
            moved: number;
            path: string;
            used: components["schemas"]["Amounts"];
            wanted: components["schemas"]["Amounts"];
        };
        PlanRequest: {
            /** @description As GET /api/v1/policy/schema describes it */
            document: {
                [key: string]: unknown;
            };
        };
        /**
         * @description A queue under one policy, its whole subtree. ``share``: what it may use now, with its part of what is idle;
         *     ``due``: of what it uses and wants; ``lacks``: what it uses or wants beyond; ``gives_back``: what is taken from it
         *     because others lack it; ``starves``: it wants something and is due nothing, or less than its guarantee.
         */
        PlanSide: {
            due: components["schemas"]["Amounts"];
            gives_back: components["schemas"]["Amounts"];
            guaranteed: components["schemas"]["Amounts"];
            lacks: components["schemas"]["Amounts"];
            share: components["schemas"]["Amounts"];
            starves: boolean;
        };
        /** @description ``age_s``: since its leader said what its queues use and want. */
        PlanSubCluster: {
            age_s: number;
            led: boolean;
            name: string;
        };
        /**
         * @description A version of the policy document. ``author`` is null where the system wrote it.
         *
         *     ``base``: the version in which operators wrote what this one is made of, itself where no override made it.
         *     ``overrides``: the temporary overrides in it. ``approved_by``: the second operator, where one was needed.
         */
        Policy: {
            active: boolean;
            approved_by: string | null;
            /** Format: date-time */
            at: string;
            author: string | null;
            base: number;
            message: string;
            overrides: number[];
            parent: number | null;
            version: number;
        };
        /**
         * @description One value that becomes another, as ``text`` says. ``queues``: how many get it; ``kept``: the highest below
         *     ``path`` that keep the old one; of a component, the sub-clusters that keep what they have.
         */
        PolicyChange: {
            after: unknown;
            before: unknown;
            field: string;
            kept: string[];
            path: string;
            queues: number;
            /** @enum {string} */
            severity: "high" | "medium" | "low";
            text: string;
        };
        /** @description ``document``: with its components complete. warnings: accounts it names that there are not (yet). */
        PolicyChecked: {
            document: {
                [key: string]: unknown;
            };
            queues: number;
            /** @default [] */
            warnings: components["schemas"]["FieldError"][];
        };
        PolicyCheckRequest: {
            /** @description As GET /api/v1/policy/schema describes it */
            document: {
                [key: string]: unknown;
            };
        };
        /** @description ``document``: what operators wrote. ``effective``: what holds, where overrides make that something else. */
        PolicyDetail: {
            active: boolean;
            approved_by: string | null;
            /** Format: date-time */
            at: string;
            author: string | null;
            base: number;
            document: {
                [key: string]: unknown;
            };
            effective: {
                [key: string]: unknown;
            } | null;
            message: string;
            overrides: number[];
            parent: number | null;
            version: number;
        };
        /**
         * @description ``to`` is null where it is a document. ``changes``: of what operators write, the first ``total`` of them cut to
         *     1,000. ``overridden``: what temporary overrides make of the second. ``staged``: of ``total``, those that a rollout's
         *     first stage begins with; the others change with its last one, everywhere at once. warnings: of a document, as
         *     ``PolicyChecked`` has them.
         */
        PolicyDiff: {
            changes: components["schemas"]["PolicyChange"][];
            from: number | null;
            identical: boolean;
            overridden: components["schemas"]["PolicyChange"][];
            severity: ("high" | "medium" | "low") | null;
            staged: number;
            to: number | null;
            total: number;
            /** @default [] */
            warnings: components["schemas"]["FieldError"][];
        };
        /** @description ``text``: ``root.ads guaranteed +20 %``. ``refused``: it should hold, and ``problem`` says why it does not. */
        PolicyOverride: {
            author: string | null;
            cancelled_at: string | null;
            cancelled_by: string | null;
            change: {
                [key: string]: unknown;
            };
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            ends_at: string;
            field: string;
            id: number;
            message: string;
            partition: string;
            problem: string;
            queue: string;
            /** Format: date-time */
            starts_at: string;
            /** @enum {string} */
            state: "planned" | "in_force" | "refused" | "over" | "cancelled";
            text: string;
        };
        PolicyPage: {
            next: string | null;
            previous: string | null;
            results: components["schemas"]["Policy"][];
        };
        /**
         * @description ``from``: the version in force. ``queues``: the largest change first, 500 of ``total`` at most; ``changed``: how
         *     many get another share or guarantee. ``gives_back``: of all queues under the new policy. ``loads_missing``: no
         *     sub-cluster has said anything yet, so there are no shares to work out.
         */
        PolicyPlan: {
            capacity: components["schemas"]["Amounts"];
            changed: number;
            from: number | null;
            gives_back: components["schemas"]["Amounts"];
            loads_missing: boolean;
            queues: components["schemas"]["PlanQueue"][];
            starving: number;
            sub_clusters: components["schemas"]["PlanSubCluster"][];
            total: number;
        };
        /**
         * @description ``parent``: the version it was made from. ``force``: remove queues although jobs live in them, cancel overrides
         *     that make no sense in it, and give a rollout up.
         */
        PolicyRequest: {
            /** @description As GET /api/v1/policy/schema describes it */
            document: {
                [key: string]: unknown;
            };
            /** @default false */
            force?: boolean;
            message: string;
            /** @default null */
            parent?: number | null;
        };
        /** @description ``version``: whose content comes into force again, as a new version. ``force``: as of a push. */
        PolicyRollbackRequest: {
            /** @default false */
            force?: boolean;
            /** @description What changes, and why; not blank */
            message: string;
            /** @default null */
            parent?: number | null;
            version: number;
        };
        /** @description A TCP port the node finds for each container: its number is in the container's HYDRA_PORT_<NAME>. */
        PortSpec: {
            name: string;
        };
        PriorityRequest: {
            priority: number;
        };
        /** @description A problem document. ``status`` is the HTTP status; of a client's own, 0: no answer came. */
        Problem: {
            /** @default  */
            detail: string;
            /** @default [] */
            errors: components["schemas"]["FieldError"][];
            /** @default 0 */
            status: number;
            title: string;
            /** @default about:blank */
            type: string;
        };
        /** @description A change that waits for another operator, or did. ``result``: what came of it, as {"version": 9}. */
        Proposal: {
            author: string;
            base: number;
            changes: components["schemas"]["PolicyChange"][];
            /** Format: date-time */
            created_at: string;
            decided_at: string | null;
            decided_by: string | null;
            decision: string;
            /** Format: date-time */
            expires_at: string;
            id: number;
            kind: string;
            message: string;
            result: {
                [key: string]: number;
            } | null;
            /** @enum {string} */
            state: "pending" | "expired" | "stale" | "approved" | "rejected" | "withdrawn";
        };
        /**
         * @description ``payload``: all it would do; of the kind ``document`` the document as ``payload.document``. warnings: of that,
         *     as ``PolicyChecked`` has them.
         */
        ProposalDetail: {
            author: string;
            base: number;
            changes: components["schemas"]["PolicyChange"][];
            /** Format: date-time */
            created_at: string;
            decided_at: string | null;
            decided_by: string | null;
            decision: string;
            /** Format: date-time */
            expires_at: string;
            id: number;
            kind: string;
            message: string;
            payload: {
                [key: string]: unknown;
            };
            result: {
                [key: string]: number;
            } | null;
            /** @enum {string} */
            state: "pending" | "expired" | "stale" | "approved" | "rejected" | "withdrawn";
            /** @default [] */
            warnings: components["schemas"]["FieldError"][];
        };
        ProposalPage: {
            next: string | null;
            previous: string | null;
            results: components["schemas"]["Proposal"][];
        };
        /**
         * @description A queue of the policy in force. Limits are in units of the whole federation, over all partitions.
         *
         *     ``state``: ``stopped`` takes no new jobs, and is ``draining`` while jobs still live in it. ``user_limit``:
         *     what one user may hold. ``max_running_jobs`` counts the queue and all below it;
         *     ``max_live_...``: what one user may have in a leaf of jobs that have not ended.
         */
        Queue: {
            default_partition: string;
            default_priority: number;
            guaranteed: components["schemas"]["Amounts"];
            leaf: boolean;
            live_jobs: number;
            max_am_share: number;
            /** @default null */
            max_live_jobs_per_user: number | null;
            /** @default null */
            max_live_mib_per_user: number | null;
            /** @default null */
            max_live_tasks_per_user: number | null;
            max_priority: number;
            max_running_jobs: number | null;
            max_running_jobs_per_user: number | null;
            maximum: components["schemas"]["Amounts"];
            may_submit: boolean;
            open_to_all: boolean;
            /** @enum {string} */
            ordering: "fifo" | "fair" | "priority";
            parent: string | null;
            partitions: {
                [key: string]: components["schemas"]["PartitionLimits"];
            };
            path: string;
            pending: number;
            policy_version: number;
            preemptable: boolean;
            running_jobs: number;
            /** @enum {string} */
            state: "running" | "draining" | "stopped";
            stopped: boolean;
            used: components["schemas"]["Containers"];
            user_limit: components["schemas"]["Amounts"];
            user_maximum: number;
            weight: number | null;
        };
        /**
         * @description ``sees``: ``own`` counts the reader's own jobs only. ``pointer``: where it stands in the policy document.
         *
         *     ``own``: to those who see their own part, why they get what they get, in words.
         */
        QueueDetail: {
            default_priority: number;
            guaranteed: components["schemas"]["Amounts"];
            leaf: boolean;
            live_jobs: number;
            max_am_share: number;
            /** @default null */
            max_live_jobs_per_user: number | null;
            /** @default null */
            max_live_mib_per_user: number | null;
            /** @default null */
            max_live_tasks_per_user: number | null;
            max_priority: number;
            max_running_jobs: number | null;
            max_running_jobs_per_user: number | null;
            maximum: components["schemas"]["Amounts"];
            open_to_all: boolean;
            ordering: string;
            own: string[];
            partition: string;
            path: string;
            pending: components["schemas"]["Amounts"];
            places: components["schemas"]["QueuePlace"][];
            pointer: string | null;
            preemptable: boolean;
            resource: string;
            rights: components["schemas"]["QueueGranted"][] | null;
            running_jobs: number;
            /** @enum {string} */
            sees: "whole" | "own";
            siblings_weight: number | null;
            starving: components["schemas"]["QueueStarves"] | null;
            stopped: boolean;
            used: components["schemas"]["Amounts"];
            user_limit: components["schemas"]["Amounts"];
            users: components["schemas"]["QueueUser"][];
            weight: number | null;
        };
        QueueGrant: {
            /** @enum {string} */
            level: "submit" | "admin";
            path: string;
        };
        QueueGranted: {
            level: string;
            queue: string;
            /** @enum {string} */
            source: "policy" | "grant";
            who: string;
        };
        /** @description Limits are in units of the whole federation, over all partitions. ``layout`` names these positions. */
        QueueLayout: {
            layout: string;
            partitions: string[];
            policy_version: number | null;
            queues: components["schemas"]["LayoutColumns"];
        };
        QueueList: {
            next: string | null;
            previous: string | null;
            results: components["schemas"]["Queue"][];
        };
        /** @description A queue, its children, and every sub-cluster. ``more``: rows after these. */
        QueueMatrix: {
            at: number;
            layout: string;
            more: number;
            partition: string;
            places: components["schemas"]["MatrixPlace"][];
            rows: components["schemas"]["MatrixRow"][];
            shares: components["schemas"]["MatrixSettings"];
            under: string;
        };
        /**
         * @description ``guaranteed_part``: of ``share``. ``why``: the rule in words. ``by_size``, ``by_demand``: what other ways of
         *     sharing would guarantee here.
         */
        QueuePlace: {
            by_demand: number;
            by_size: number;
            counts: boolean;
            guaranteed_part: components["schemas"]["Amounts"];
            pending: components["schemas"]["Amounts"];
            /** @enum {string} */
            rule: "demand" | "idle" | "vain" | "maximum" | "guarantee" | "capacity" | "weight" | "size" | "none";
            share: components["schemas"]["Amounts"];
            shares_age_s: number | null;
            stale: boolean;
            sub_cluster: string;
            used: components["schemas"]["Amounts"];
            why: string;
        };
        /** @description ``source``: ``grant`` can be changed here, ``policy`` is an access list of the document in force. */
        QueueRight: {
            /** @enum {string} */
            level: "submit" | "admin";
            queue: string;
            /** @enum {string} */
            source: "grant" | "policy";
            user: string;
        };
        QueueRightList: {
            next: string | null;
            previous: string | null;
            results: components["schemas"]["QueueRight"][];
        };
        QueueRightRequest: {
            /**
             * @default submit
             * @enum {string}
             */
            level?: "submit" | "admin";
            user: string;
        };
        QueueStarves: {
            lacking: components["schemas"]["Amounts"];
            reclaim: components["schemas"]["Reclaim"][];
            resource: string;
            since: number;
            text: string;
        };
        QueueThere: {
            amounts: components["schemas"]["Amounts"];
            containers: number;
            ends: number;
            jobs: number;
            queue: string;
            services: number;
            stopped: number;
            unknown: number;
        };
        /** @description Queues with nothing to tell are left out. ``others``: all that others use, where that tells of none of them. */
        QueueUse: {
            at: number;
            capacity: number[];
            layout: string;
            others: components["schemas"]["OthersUse"] | null;
            places: components["schemas"]["UsePlace"][];
            queues: components["schemas"]["UseColumns"];
            /** @default null */
            shares?: components["schemas"]["ShareSettings"] | null;
            starving: components["schemas"]["Starving"][];
            sub_cluster: string | null;
        };
        QueueUser: {
            jobs: number;
            used: components["schemas"]["Amounts"];
            user: string;
        };
        /**
         * @description ``address``: a webhook's without its path and query, or to whom mail goes, "" where the account has no address.
         *
         *     waiting: what it is still to be told, of very much 1000. failures: tries in a row that failed; error: how the last
         *     did; next_at: when it is tried again after it.
         */
        Receiver: {
            address: string;
            /** Format: date-time */
            changed_at: string;
            /** Format: date-time */
            created_at: string;
            error: string;
            every_job: string[];
            failures: number;
            /** @enum {string} */
            kind: "webhook" | "mail";
            name: string;
            next_at: string | null;
            waiting: number;
        };
        /** @description ``signing_key``: with which a webhook's bodies are signed, of one that is new; it is shown this once. */
        ReceiverKept: {
            address: string;
            /** Format: date-time */
            changed_at: string;
            /** Format: date-time */
            created_at: string;
            error: string;
            every_job: string[];
            failures: number;
            /** @enum {string} */
            kind: "webhook" | "mail";
            name: string;
            next_at: string | null;
            /** @default null */
            signing_key: string | null;
            waiting: number;
        };
        ReceiverList: {
            next: string | null;
            previous: string | null;
            results: components["schemas"]["Receiver"][];
        };
        /**
         * @description A webhook, an address that is never answered again, or mail to the account's own address.
         *
         *     One that is there already stays what it is where neither is said. every_job: of what it is told for every job of the
         *     account, beside what job files ask for; where it is not said, of what it was before.
         */
        ReceiverRequest: {
            /** @default null */
            every_job?: ("started" | "succeeded" | "failed" | "killed")[] | null;
            /** @default false */
            mail?: boolean;
            /** @default null */
            webhook?: string | null;
        };
        Reclaim: {
            amount: number;
            queue: string;
            sub_cluster: string;
        };
        /** @description ``containers``: live ones, of former attempts too. ``cursor``: events after it are news to this answer. */
        Registered: {
            asks: components["schemas"]["MasterAsk"][];
            attempt: number;
            container: string;
            containers: components["schemas"]["MasterContainer"][];
            cursor: number;
            files: components["schemas"]["MasterFile"][];
            job: number;
            limits: components["schemas"]["MasterLimits"];
            name: string;
            queue: string;
            user: string;
        };
        /** @description ``tracking``: null is no page, also where this attempt named one before. */
        RegisterRequest: {
            /** @default null */
            tracking?: components["schemas"]["Tracking"] | null;
        };
        /** @description What one container gets. 1000 ``vcores_milli`` are one core. */
        Resources: {
            /** @default 0 */
            gpus?: number | string;
            /** @default 256 */
            memory_mib?: number | string;
            /** @default 1000 */
            vcores_milli?: number | string;
        };
        /** @description One task of a group; without ``index`` all of it; without ``group`` all of the job. */
        RestartRequest: {
            /** @default null */
            group?: string | null;
            /** @default null */
            index?: number | null;
        };
        /**
         * @description What a service ran, or runs. outcome: what became of it beside being followed by another, in words. back: the
         *     number of the revision it is the same as, where it was taken back to that. changes: what is different from the
         *     revision before, as ``web.resources.memory_mib: 64 -> 128``, or only where, as ``web.command``; the first twelve,
         *     and how many more. Nothing where the cluster went back by itself.
         */
        Revision: {
            /** Format: date-time */
            at: string;
            back: number | null;
            by: string;
            /** @default [] */
            changes?: string[];
            outcome: string;
            revision: number;
        };
        RevisionPage: {
            next: string | null;
            previous: string | null;
            results: components["schemas"]["Revision"][];
        };
        RoleRequest: {
            /** @enum {string} */
            role: "operator" | "tenant" | "viewer";
        };
        /**
         * @description ``to``: a revision that the job had; without it the last that did not fail and ran something else, or the one
         *     before while another is rolled out. It is not taken back itself, so that ``deadline_s`` and ``max_failures`` mean
         *     nothing to it.
         */
        RollbackRequest: {
            /** @default 600 */
            deadline_s?: number;
            /** @default 1 */
            max_failures?: number;
            /** @default 0 */
            max_surge?: number;
            /** @default 1 */
            max_unavailable?: number;
            /** @default 10 */
            min_ready_s?: number;
            revision: number;
            /** @default null */
            to?: number | null;
        };
        /**
         * @description A version on its way to all. ``stage``: the one it is in, from 0; ``message``: why it is where it is.
         *
         *     ``baseline``: by stage, what was before its sub-clusters were told.
         */
        Rollout: {
            author: string | null;
            baseline: {
                [key: string]: components["schemas"]["StageMeasures"];
            };
            /** Format: date-time */
            created_at: string;
            ended_at: string | null;
            from_version: number;
            guards: {
                [key: string]: number;
            };
            id: number;
            live: boolean;
            message: string;
            metrics: components["schemas"]["RolloutMetrics"];
            /** @enum {string} */
            on_breach: "pause" | "rollback";
            rollback_version: number | null;
            soak_at: string | null;
            stage: number;
            stage_at: string | null;
            stages: components["schemas"]["Stage"][];
            /** @enum {string} */
            state: "pending" | "running" | "soaking" | "paused" | "rolling_back" | "completed" | "rolled_back" | "failed";
            version: number;
        };
        /** @description By stage. ``looks``: how often was looked in this soak. */
        RolloutMetrics: {
            /** @default 0 */
            looks?: number;
            /** @default [] */
            stages?: components["schemas"]["StageMeasures"][];
        };
        RolloutOrder: {
            /** @default  */
            message?: string;
        };
        RolloutPage: {
            next: string | null;
            previous: string | null;
            results: components["schemas"]["Rollout"][];
        };
        /**
         * @description ``parent``: the version the document was made from.
         *
         *     After the last stage the version is in force everywhere; only a stage that says ``everywhere`` is watched then.
         */
        RolloutRequest: {
            /** @description As GET /api/v1/policy/schema describes it */
            document: {
                [key: string]: unknown;
            };
            /**
             * @default {
             *       "pending_p99_s": null,
             *       "failures_per_min": null,
             *       "failure_share": null,
             *       "allocation_rate_drop": null,
             *       "utilization_drop": null
             *     }
             */
            guards?: components["schemas"]["Guards"];
            /** @description What changes, and why; not blank */
            message: string;
            /**
             * @default rollback
             * @enum {string}
             */
            on_breach?: "pause" | "rollback";
            /** @default null */
            parent?: number | null;
            stages: components["schemas"]["StageRequest"][];
        };
        /**
         * @description A service on its way to another revision of what its tasks run. updated: of its ``tasks`` that may change, those
         *     that do not run ``previous`` any more. failures: ends of its attempts through their own fault, of which
         *     ``max_failures`` are borne. back: it takes back what has failed, or was not wanted. standing_in: tasks beside those,
         *     which serve meanwhile.
         */
        RolloutState: {
            back: boolean;
            /** Format: date-time */
            began_at: string;
            due_at: string | null;
            failures: number;
            max_failures: number;
            previous: number;
            revision: number;
            /** @default 0 */
            standing_in: number;
            tasks: number;
            updated: number;
        };
        RunJob: {
            id: number;
            /** @enum {string} */
            state: "SUBMITTED" | "ADMITTED" | "RUNNING" | "KILLING" | "SUCCEEDED" | "FAILED" | "KILLED";
        };
        /** @description ``query``: a query string, as the address of the job list has it. */
        SavedView: {
            /** Format: date-time */
            created_at: string;
            id: number;
            name: string;
            query: string;
        };
        SavedViewList: {
            next: string | null;
            previous: string | null;
            results: components["schemas"]["SavedView"][];
        };
        SavedViewRequest: {
            name: string;
            /** @default  */
            query?: string;
        };
        ScaleRequest: {
            count: number;
            group: string;
        };
        /**
         * @description ``words``: what the cron expression says. next_at: when it starts something next; null: never, or not while it is
         *     suspended. Both have the offset that its zone has then.
         */
        Schedule: {
            cron: string;
            id: number;
            last_run: components["schemas"]["ScheduleRun"] | null;
            name: string;
            next_at: string | null;
            /** @enum {string} */
            overlap: "skip" | "allow" | "replace";
            owner: string;
            queue: string;
            suspended: boolean;
            until: string | null;
            words: string;
            zone: string;
        };
        /**
         * @description ``upcoming``: the next times, also of one that is suspended. warnings: of a schedule just saved, what keeps its
         *     job from ever starting, by the nodes there are.
         */
        ScheduleDetail: {
            /** Format: date-time */
            changed_at: string;
            /** Format: date-time */
            created_at: string;
            cron: string;
            except_days: string[];
            id: number;
            job: string;
            keep: number;
            last_run: components["schemas"]["ScheduleRun"] | null;
            name: string;
            next_at: string | null;
            /** @enum {string} */
            overlap: "skip" | "allow" | "replace";
            owner: string;
            queue: string;
            revision: number;
            set: {
                [key: string]: unknown;
            };
            start_within_s: number;
            suspended: boolean;
            until: string | null;
            upcoming: string[];
            /** @default [] */
            warnings: components["schemas"]["FieldError"][];
            words: string;
            zone: string;
        };
        SchedulePage: {
            next: string | null;
            previous: string | null;
            results: components["schemas"]["Schedule"][];
        };
        /** @description What a schedule would do were it saved now. outlook: of a job that it started at once. */
        SchedulePreview: {
            /** @default null */
            outlook: components["schemas"]["Outlook"] | null;
            queue: string;
            upcoming: string[];
            /** @default [] */
            warnings: components["schemas"]["FieldError"][];
            words: string;
        };
        /**
         * @description A job file that is to run at certain times. Its name is its owner's own.
         *
         *     cron: five fields, or @hourly, @daily, @weekly, @monthly, @yearly; in ``zone``, a name of the IANA's. except_days:
         *     on which nothing is started, ``YYYY-MM-DD``, ``YYYY-MM-DD/YYYY-MM-DD`` (both included) or ``MM-DD`` of every year.
         *     job: the text of a job file, YAML or JSON. set: values of its parameters; ``schedule_time``, ``schedule_date`` and
         *     ``schedule_name``, where it declares such, are given by the schedule. overlap: what happens at a time at which a job
         *     of before has not ended. start_within_s: later than so long after its time nothing is started for it. keep: of how
         *     many times it is kept what became of them. until: after then nothing is started.
         */
        ScheduleRequest: {
            cron: string;
            /** @default [] */
            except_days?: string[];
            job: string;
            /** @default 50 */
            keep?: number;
            name: string;
            /**
             * @default skip
             * @enum {string}
             */
            overlap?: "skip" | "allow" | "replace";
            /** @default {} */
            set?: {
                [key: string]: string | number | boolean;
            };
            /** @default 3600 */
            start_within_s?: number | string;
            /** @default false */
            suspended?: boolean;
            /** @default null */
            until?: string | null;
            /** @default UTC */
            zone?: string;
        };
        /**
         * @description What became of a time. ``at``: the time; of one that somebody asked for, when that was. job: what was started,
         *     null also where its own history has ended. times: how many times it stands for. by: who asked for it.
         */
        ScheduleRun: {
            /** Format: date-time */
            at: string;
            by: string | null;
            id: number;
            job: components["schemas"]["RunJob"] | null;
            /** Format: date-time */
            made_at: string;
            message: string;
            /** @enum {string} */
            outcome: "started" | "refused" | "overlap" | "late" | "suspended";
            times: number;
        };
        ScheduleRunPage: {
            next: string | null;
            previous: string | null;
            results: components["schemas"]["ScheduleRun"][];
        };
        /** @description The whole schedule as it is to be. revision: the one that is known to whoever asks. */
        ScheduleUpdate: {
            cron: string;
            /** @default [] */
            except_days?: string[];
            job: string;
            /** @default 50 */
            keep?: number;
            name: string;
            /**
             * @default skip
             * @enum {string}
             */
            overlap?: "skip" | "allow" | "replace";
            revision: number;
            /** @default {} */
            set?: {
                [key: string]: string | number | boolean;
            };
            /** @default 3600 */
            start_within_s?: number | string;
            /** @default false */
            suspended?: boolean;
            /** @default null */
            until?: string | null;
            /** @default UTC */
            zone?: string;
        };
        /** @description One scope in a window. ``capacity`` is what a queue is guaranteed, and what a sub-cluster has. */
        ScopeUsage: {
            allocated: components["schemas"]["Amounts"] | null;
            capacity: components["schemas"]["Amounts"] | null;
            decisions: number;
            dominant_share: number | null;
            name: string;
            nodes: {
                [key: string]: number | null;
            };
            pending: components["schemas"]["Amounts"] | null;
            pending_containers: number | null;
            preemptions: number;
            used_memory_mib: number | null;
            used_vcores_milli: number | null;
        };
        /** @description ``changed_at``: when it got its present value. */
        Secret: {
            /** Format: date-time */
            changed_at: string;
            /** Format: date-time */
            created_at: string;
            name: string;
        };
        /** @description ``warnings``: which jobs that have not ended, and which schedules, of the account name it; a few of each. */
        SecretDeleted: {
            name: string;
            /** @default [] */
            warnings: components["schemas"]["FieldError"][];
        };
        SecretList: {
            next: string | null;
            previous: string | null;
            results: components["schemas"]["Secret"][];
        };
        /** @description ``value``: a text, kept as it is. It is never answered. */
        SecretRequest: {
            /** Format: password */
            value: string;
        };
        /** @description A secret of the job's owner: the task's variable ``env``, or the file ``path``, which its user alone reads. */
        SecretSpec: {
            /** @default null */
            env?: string | null;
            name: string;
            /** @default null */
            path?: string | null;
        };
        /** @description One metric of one scope, a value per point; null where nothing is known, as in an outage. */
        Series: {
            metric: string;
            scope: string;
            unit: string;
            values: (number | null)[];
        };
        /** @description ``at``: where each point's window of ``step_s`` seconds begins, in seconds since 1970. */
        SeriesAnswer: {
            at: number[];
            events: components["schemas"]["SeriesEvent"][];
            series: components["schemas"]["Series"][];
            step_s: number;
        };
        SeriesEvent: {
            /** Format: date-time */
            at: string;
            id: number;
            /** @description policy, rollout, override or sub-cluster */
            kind: string;
            text: string;
        };
        SeriesInstant: {
            /** Format: date-time */
            at: string;
            /** @description null for tenants, and where nothing is known of the moment */
            cluster: components["schemas"]["ScopeUsage"] | null;
            queues: components["schemas"]["ScopeUsage"][];
            /** @description How many more queues had something in them */
            queues_left_out: number;
            step_s: number;
            sub_clusters: components["schemas"]["ScopeUsage"][];
        };
        /**
         * @description A service's tasks on the node. ``fit``: how many of them have room elsewhere now, also in other
         *     sub-clusters where the policy of the queue allows it.
         */
        ServiceMove: {
            at_once: number;
            count: number;
            fit: number;
            group: string;
            job: number;
            job_name: string;
            owner: string;
            resources: components["schemas"]["Amounts"];
            tasks: number[];
        };
        /** @description A component's policy or parameter that is not the same in all. ``values``: by sub-cluster. */
        Setting: {
            setting: string;
            values: {
                [key: string]: unknown;
            };
        };
        ShareSettings: {
            policy: string;
            stale_s: number;
        };
        /**
         * @description What some sub-clusters did in a window of ``window_s``.
         *
         *     jobs: that came in it; pending_p99_s: how long they waited or wait. ended:
         *     containers that ended, of those looked at; failed: of them. utilization: of
         *     the scarcest resource, 0 to 1. waits: somebody asks for more than there is.
         */
        SideMeasures: {
            /** @default 0 */
            allocations_per_s: number;
            /** @default 0 */
            ended: number;
            /** @default 0 */
            ended_per_min: number;
            /** @default 0 */
            failed: number;
            /** @default 0 */
            jobs: number;
            /** @default null */
            pending_p99_s: number | null;
            /** @default null */
            utilization: number | null;
            /** @default false */
            waits: boolean;
            /** @default 0 */
            window_s: number;
        };
        /** @description ``change``: from the first policy; null of the first one itself. */
        SimulatedComparedFigure: {
            change: components["schemas"]["SimulatedEstimate"] | null;
            value: components["schemas"]["SimulatedEstimate"];
        };
        /**
         * @description ``queues``: those that change most, 300 of ``total_queues`` at most.
         *
         *     ``users``: of more than 100 those with the most work and those whose waits change most, and last ``(others)``,
         *     which is all others together; they are ``total_users``.
         */
        SimulatedComparison: {
            baseline: string;
            notes: string[];
            policies: components["schemas"]["SimulatedPolicyFigures"][];
            queues: string[];
            total_queues: number;
            /** @default 0 */
            total_users?: number;
            /** @default [] */
            users?: string[];
            workload: string;
        };
        /**
         * @description What waits because ``sub_cluster`` is drained at ``at``, seen ``horizon_s`` ahead, with what comes last seen on
         *     until ``seen_s``. What still runs there after ``deadline_s`` is stopped, and begins elsewhere; null: never.
         *
         *     ``jobs`` and ``containers``: that waited for more than ``waits_s`` and would not have; ``longer_jobs`` and
         *     ``longer_containers``: that would have waited too, but less by more than that. ``wait_mean_s``: how much longer
         *     all of these waited. ``queues``, ``live``: those of them, the largest first, 300 and 100 at most.
         *     ``never``: what could start nowhere else, 100 at most of ``total_never`` groups in ``never_jobs`` jobs;
         *     ``never_forecast``: arriving jobs that are like that.
         *     ``running`` containers are there at first, ``services`` of them of services, which leave. ``empty_s``: so long
         *     after ``at`` nothing is left there; null where something is at ``seen_s``, ``left`` containers.
         *     ``lost_core_hours``: work of what was stopped for the drain.
         */
        SimulatedDrain: {
            /** Format: date-time */
            at: string;
            containers: components["schemas"]["SimulatedEstimate"];
            /** @default null */
            deadline_s?: number | null;
            empty_s: components["schemas"]["SimulatedEstimate"];
            horizon_s: number;
            jobs: components["schemas"]["SimulatedEstimate"];
            left: number;
            live: components["schemas"]["DrainedJob"][];
            longer_containers: components["schemas"]["SimulatedEstimate"];
            longer_jobs: components["schemas"]["SimulatedEstimate"];
            /** @default null */
            lost_core_hours?: components["schemas"]["SimulatedEstimate"] | null;
            never: components["schemas"]["DrainedGroup"][];
            never_forecast: number;
            never_jobs: number;
            queues: components["schemas"]["DrainedQueue"][];
            running: number;
            /** @default null */
            seen_s?: number | null;
            services: number;
            sub_cluster: string;
            total_live: number;
            total_never: number;
            total_queues: number;
            wait_mean_s: components["schemas"]["SimulatedEstimate"];
            waits_s: number;
        };
        /**
         * @description A value with its 95 % interval. ``over``: what the interval is over; "" without one, as then are its ends null.
         *     ``value`` is null where it cannot be said.
         */
        SimulatedEstimate: {
            count: number;
            high: number | null;
            low: number | null;
            /** @enum {string} */
            over: "seeds" | "pairs of seeds" | "jobs" | "pairs of jobs" | "";
            value: number | null;
        };
        /** @description ``unit``: s, part (of 1), count, core hours, or "" (a ratio). ``better``: "" where neither is. */
        SimulatedFigure: {
            /** @enum {string} */
            better: "lower" | "higher" | "";
            title: string;
            unit: string;
        };
        SimulatedFigures: {
            by_queue: {
                [key: string]: components["schemas"]["SimulatedFigure"];
            };
            /** @default {} */
            by_user?: {
                [key: string]: components["schemas"]["SimulatedFigure"];
            };
            overall: {
                [key: string]: components["schemas"]["SimulatedFigure"];
            };
        };
        /** @description Over time, a value for every ``period_s``: part in use of each resource, and the part in wrong hands. */
        SimulatedPeriods: {
            fairness_error: (number | null)[];
            period_s: number;
            utilization: {
                [key: string]: (number | null)[];
            };
        };
        /** @description ``users``: none in answers from before they were told apart. */
        SimulatedPolicyFigures: {
            figures: {
                [key: string]: components["schemas"]["SimulatedComparedFigure"];
            };
            policy: string;
            queues: components["schemas"]["SimulatedQueueFigures"][];
            seeds: number[];
            /** @default [] */
            users?: components["schemas"]["SimulatedUserFigures"][];
        };
        SimulatedQueueFigures: {
            figures: {
                [key: string]: components["schemas"]["SimulatedComparedFigure"];
            };
            queue: string;
        };
        SimulatedRun: {
            ended_s: number;
            jobs_by_state: {
                [key: string]: number;
            };
            lifecycles: number;
            peak_rss_mib: number;
            periods: components["schemas"]["SimulatedPeriods"] | null;
            policy: string;
            rounds: number;
            seed: number;
            took_s: number;
        };
        SimulatedUserFigures: {
            figures: {
                [key: string]: components["schemas"]["SimulatedComparedFigure"];
            };
            user: string;
        };
        /**
         * @description ``base``: the version in force then, to which is compared. ``version``: null where a document was given;
         *     ``digest``: of what it says, the same as of a version that says it. ``change``: the change against ``base`` that
         *     matters most and how many more there are, in words. Of a drain: ``sub_cluster``, that is drained with ``base`` in
         *     force, whether there is a ``forecast``, and its ``deadline_s``, all null of a policy; its ``version`` is null, and
         *     its ``digest`` and ``change`` are empty. ``from``, ``to``: the window, or of a drain what is looked ahead.
         *     ``trace``: what is replayed instead of the history; null where nothing is, and once its place was needed, when
         *     ``trace_name`` still says what it was. ``own_nodes``: on the trace's; null without one.
         *     ``sample``: part of jobs and nodes that is simulated. ``simulated_s``: how far the slowest run is, while it runs.
         */
        Simulation: {
            base: number;
            change: string;
            /** @default null */
            deadline_s?: number | null;
            digest: string;
            ended_at: string | null;
            forecast: boolean | null;
            /** Format: date-time */
            from: string;
            id: number;
            /** @enum {string} */
            kind: "policy" | "drain";
            message: string;
            /** @default null */
            own_nodes?: boolean | null;
            progress: number;
            /** Format: date-time */
            requested_at: string;
            requested_by: string | null;
            sample: number;
            seeds: number;
            simulated_s: number;
            started_at: string | null;
            /** @enum {string} */
            state: "queued" | "running" | "done" | "failed" | "cancelled";
            sub_cluster: string | null;
            /** Format: date-time */
            to: string;
            /** @default null */
            trace?: number | null;
            /** @default  */
            trace_name?: string;
            version: number | null;
        };
        /** @description ``queues``: where jobs go of queues that a policy does not have. */
        SimulationDetail: {
            base: number;
            change: string;
            /** @default null */
            deadline_s?: number | null;
            digest: string;
            document: {
                [key: string]: unknown;
            };
            ended_at: string | null;
            forecast: boolean | null;
            /** Format: date-time */
            from: string;
            id: number;
            /** @enum {string} */
            kind: "policy" | "drain";
            message: string;
            /** @default null */
            own_nodes?: boolean | null;
            progress: number;
            /** @default {} */
            queues?: {
                [key: string]: string;
            };
            /** Format: date-time */
            requested_at: string;
            requested_by: string | null;
            result: components["schemas"]["SimulationResult"] | null;
            sample: number;
            seeds: number;
            simulated_s: number;
            started_at: string | null;
            /** @enum {string} */
            state: "queued" | "running" | "done" | "failed" | "cancelled";
            sub_cluster: string | null;
            /** Format: date-time */
            to: string;
            /** @default null */
            trace?: number | null;
            /** @default  */
            trace_name?: string;
            version: number | null;
        };
        SimulationPage: {
            next: string | null;
            previous: string | null;
            results: components["schemas"]["Simulation"][];
        };
        /**
         * @description What a policy would have done to what happened in a window: the last ``hour`` unless ``window``, or ``from`` and
         *     ``to``, say otherwise. One of ``document`` and ``version``.
         *
         *     Or, with ``drain``, what would wait if that sub-cluster were drained now: ``horizon_s`` ahead, by default an hour,
         *     after the deadline if there is one, with jobs coming as in the last hour unless ``forecast`` is false. What still
         *     runs there after ``deadline_s`` is stopped, as in a drain with that deadline; without it, never.
         *
         *     Or, with ``trace``, what a policy would do to the jobs of a file that was handed in, on the fleet's nodes as they
         *     are now, or with ``nodes`` on its own, dealt among the fleet's sub-clusters. It begins now, and has no window.
         *
         *     ``queues``, without ``drain``: where jobs go of a queue that one of the policies does not have, from its path to
         *     that of a leaf which that policy has. Jobs that have no queue under one of both are left out.
         *
         *     More ``seeds`` say more surely what is chance.
         */
        SimulationRequest: {
            /**
             * @description With drain: its deadline
             * @default null
             */
            deadline_s?: number | null;
            /**
             * @description As GET /api/v1/policy/schema describes it
             * @default null
             */
            document?: {
                [key: string]: unknown;
            } | null;
            /**
             * @description A sub-cluster's name
             * @default null
             */
            drain?: string | null;
            /**
             * @description With drain: jobs come as in the last hour
             * @default null
             */
            forecast?: boolean | null;
            /** @default null */
            from?: string | null;
            /**
             * @description With drain: so far ahead
             * @default null
             */
            horizon_s?: number | null;
            /**
             * @description With trace: whose; fleet by default
             * @default null
             */
            nodes?: ("fleet" | "trace") | null;
            /** @default {} */
            queues?: {
                [key: string]: string;
            };
            /** @default 3 */
            seeds?: number;
            /** @default null */
            to?: string | null;
            /**
             * @description A number of GET /api/v1/simulations/traces
             * @default null
             */
            trace?: number | null;
            /** @default null */
            version?: number | null;
            /** @default null */
            window?: ("hour" | "day" | "week") | null;
        };
        /** @description ``figures``: what the keys of all figures mean. ``drained``: null of a policy. */
        SimulationResult: {
            comparison: components["schemas"]["SimulatedComparison"];
            containers: number;
            drained: components["schemas"]["SimulatedDrain"] | null;
            figures: components["schemas"]["SimulatedFigures"];
            format: string;
            jobs: number;
            nodes: number;
            runs: components["schemas"]["SimulatedRun"][];
            version: number;
        };
        /**
         * @description A trace that was handed in. ``kind``: what the file was. ``span_s``: until the last job has ended by itself.
         *     ``queues``: the 100 with the most jobs. ``skipped``: jobs that were left out, by reason. ``nodes``: how many of its
         *     own it tells; null: none.
         */
        SimulationTrace: {
            /** Format: date-time */
            added_at: string;
            added_by: string | null;
            containers: number;
            id: number;
            jobs: number;
            kind: string;
            name: string;
            nodes: number | null;
            queues: components["schemas"]["TracedQueue"][];
            skipped: {
                [key: string]: number;
            };
            span_s: number;
            users: number;
        };
        SimulationTracePage: {
            next: string | null;
            previous: string | null;
            results: components["schemas"]["SimulationTrace"][];
        };
        /** @description ``everywhere``: the last one, in which the version is in force for all; it names no sub-cluster. */
        Stage: {
            /** @default false */
            everywhere?: boolean;
            soak_s: number;
            sub_clusters: string[];
        };
        /** @description ``staged``: the stage's sub-clusters; ``others``: those that run the old version. */
        StageMeasures: {
            others: components["schemas"]["SideMeasures"];
            staged: components["schemas"]["SideMeasures"];
        };
        /**
         * @description Names sub-clusters, or says ``everywhere``: with that one, the last, the version is put in force for all.
         *
         *     ``soak_s``: for how long it is watched once all of it runs the version.
         */
        StageRequest: {
            /** @default false */
            everywhere?: boolean;
            /** @default 60 */
            soak_s?: number;
            /** @default [] */
            sub_clusters?: string[];
        };
        Starving: {
            at: number;
            lacking: number[];
            partition: string;
            /** @description Seconds since 1970 */
            since: number;
        };
        /**
         * @description ``lease_age_s``: since its leader last renewed. ``left``: what still keeps a draining one; ``waits_for``: what a
         *     joining one lacks.
         */
        SubCluster: {
            allocated: components["schemas"]["Amounts"];
            capacity: components["schemas"]["Amounts"];
            deadline: string | null;
            duties: {
                [key: string]: number;
            };
            ended: number;
            ended_per_s: number | null;
            epoch: number;
            frozen: boolean;
            id: number;
            leader: string | null;
            lease_age_s: number | null;
            lease_ok: boolean;
            left: components["schemas"]["Left"] | null;
            live_containers: number;
            load: components["schemas"]["SubClusterLoad"] | null;
            message: string;
            name: string;
            nodes: {
                [key: string]: number;
            };
            pending: components["schemas"]["Containers"];
            placed: number;
            /** @description Allocations of the last ten seconds; with `ended_per_s`: decisions */
            placed_per_s: number | null;
            policy_version: number | null;
            round_ms: number | null;
            rounds: number;
            rounds_per_s: number | null;
            shares: components["schemas"]["SubClusterShares"] | null;
            /** @enum {string} */
            state: "joining" | "running" | "draining" | "lost" | "decommissioned";
            /** Format: date-time */
            state_at: string;
            summary_age_s: number | null;
            used: components["schemas"]["Measured"];
            waits_for: string[];
            would_preempt: components["schemas"]["WouldPreempt"] | null;
        };
        SubClusterDetail: {
            allocated: components["schemas"]["Amounts"];
            capacity: components["schemas"]["Amounts"];
            deadline: string | null;
            duties: {
                [key: string]: number;
            };
            ended: number;
            ended_per_s: number | null;
            epoch: number;
            frozen: boolean;
            id: number;
            leader: string | null;
            lease_age_s: number | null;
            lease_ok: boolean;
            left: components["schemas"]["Left"] | null;
            live_containers: number;
            load: components["schemas"]["SubClusterLoad"] | null;
            message: string;
            name: string;
            nodes: {
                [key: string]: number;
            };
            pending: components["schemas"]["Containers"];
            placed: number;
            /** @description Allocations of the last ten seconds; with `ended_per_s`: decisions */
            placed_per_s: number | null;
            policy_version: number | null;
            round_ms: number | null;
            rounds: number;
            rounds_per_s: number | null;
            shares: components["schemas"]["SubClusterShares"] | null;
            /** @enum {string} */
            state: "joining" | "running" | "draining" | "lost" | "decommissioned";
            /** Format: date-time */
            state_at: string;
            state_by: string | null;
            summary_age_s: number | null;
            used: components["schemas"]["Measured"];
            waits_for: string[];
            would_preempt: components["schemas"]["WouldPreempt"] | null;
        };
        /**
         * @description ``jobs``: at home there. ``guests``: containers of jobs at home elsewhere. ``moves``: what would start elsewhere.
         *
         *     ``fits``: all of it could start now. ``over_maximum``: by queue, what could not, room or no room. ``tied``: the
         *     first hundred of ``tied_groups``.
         */
        SubClusterDrainPreview: {
            /** Format: date-time */
            at: string;
            containers: number;
            deadline: string | null;
            ends: number;
            fits: boolean;
            guests: number;
            jobs: number;
            moves: components["schemas"]["Amounts"];
            others: components["schemas"]["OtherSubCluster"][];
            over_maximum: components["schemas"]["HeldBack"][];
            queues: components["schemas"]["QueueThere"][];
            services: number;
            state: string;
            stopped: number;
            sub_cluster: string;
            tied: components["schemas"]["TiedGroup"][];
            tied_groups: number;
            unknown: number;
        };
        /** @description ``deadline_s``: from now; what runs then is stopped and starts elsewhere. null: never. */
        SubClusterDrainRequest: {
            /** @default null */
            deadline_s?: number | null;
            /** @default  */
            message?: string;
        };
        /**
         * @description Whether a sub-cluster could hold all of a job, were its nodes empty; ``why``: what it lacks, or what keeps it
         *     from taking the job now, such as that it is draining.
         */
        SubClusterFit: {
            fits: boolean;
            sub_cluster: string;
            why: string;
        };
        SubClusterList: {
            next: string | null;
            previous: string | null;
            results: components["schemas"]["SubCluster"][];
        };
        /**
         * @description What its leader last said: of nodes that are up and open; ``pending``: what waits there.
         *
         *     ``shares_version``: of the assignment it works by.
         */
        SubClusterLoad: {
            age_s: number;
            capacity: components["schemas"]["Amounts"];
            epoch: number;
            free: components["schemas"]["Amounts"];
            nodes_up: number;
            pending: components["schemas"]["Amounts"];
            shares_version: number;
        };
        /** @description ``queue``: what its workers serve. ``join_token``: with which its nodes register, shown this once. */
        SubClusterRegistered: {
            id: number;
            join_token: string;
            /** Format: date-time */
            join_token_expires_at: string;
            name: string;
            queue: string;
            state: string;
        };
        SubClusterRegistration: {
            name: string;
            token: string;
        };
        /** @description What the GPG last assigned to its queues. */
        SubClusterShares: {
            age_s: number;
            version: number;
        };
        /** @description ``token`` is shown this once and registers one sub-cluster. */
        SubClusterToken: {
            /** Format: date-time */
            expires_at: string;
            id: number;
            name: string;
            token: string;
        };
        /** @description ``name``: the only name it may register; empty for any. */
        SubClusterTokenRequest: {
            /** @default  */
            name?: string;
            /** @default  */
            note?: string;
            /** @default 3600 */
            valid_s?: number;
        };
        Task: {
            attempts: number;
            container: string | null;
            exit_code: number | null;
            finished_at: string | null;
            group: string;
            index: number;
            node: string | null;
            started_at: string | null;
            /** @enum {string} */
            state: "PENDING" | "RUNNING" | "SUCCEEDED" | "FAILED" | "KILLED";
        };
        TaskPage: {
            next: string | null;
            previous: string | null;
            results: components["schemas"]["Task"][];
        };
        /** @description Tasks that no other sub-cluster could ever run. */
        TiedGroup: {
            containers: number;
            group: string;
            job: number;
            job_name: string;
            owner: string;
            queue: string;
            why: string;
        };
        /** @description The value it has for the time, as a policy document writes it; null: no limit. */
        To: {
            to: number | string | {
                [key: string]: unknown;
            } | null;
        };
        /** @description ``key``: how its text begins. ``name``: empty for one that a log-in made. ``current``: this request's. */
        Token: {
            /** Format: date-time */
            created_at: string;
            current: boolean;
            expires_at: string | null;
            key: string;
            last_used_at: string | null;
            name: string;
        };
        TokenList: {
            next: string | null;
            previous: string | null;
            results: components["schemas"]["Token"][];
        };
        /** @description ``name``: what it is for. */
        TokenRequest: {
            name: string;
            /** @default 7776000 */
            valid_s?: number;
        };
        TracedQueue: {
            jobs: number;
            queue: string;
        };
        /** @description The page on which the application shows how it is doing: ``path`` at ``port``, one of the master's own. */
        Tracking: {
            /** @default / */
            path?: string;
            port: string;
        };
        /**
         * @description ``spec``: the whole job as for a submit. Its groups say what they run; what else it says is left as it is.
         *
         *     dry_run: begin nothing, and say what else would be said; files need not be uploaded yet.
         */
        UpdateRequest: {
            /** @default 600 */
            deadline_s?: number;
            /** @default false */
            dry_run?: boolean;
            /** @default 1 */
            max_failures?: number;
            /** @default 0 */
            max_surge?: number;
            /** @default 1 */
            max_unavailable?: number;
            /** @default 10 */
            min_ready_s?: number;
            revision: number;
            spec: {
                [key: string]: unknown;
            };
        };
        /** @description ``at``: positions in the layout. ``pending`` is beyond ``used``; ``guaranteed_part`` is within ``share``. */
        UseColumns: {
            at: number[];
            guaranteed_part: number[][];
            live: number[];
            pending: number[][];
            running: number[];
            share: number[][];
            used: number[][];
        };
        /** @description ``owner``: the account's name, "" of one that is gone. */
        UsedAccount: {
            containers: number;
            /** @description What they took of processors */
            cpu_ms: number;
            /** @description Of the containers, those that FAILED; not what was stopped or lost */
            failed: number;
            gpu_s: number;
            memory_mib_s: number;
            owner: string;
            /** @description The most memory that each container took, times its seconds */
            peak_memory_mib_s: number;
            /** @description That could have started when their job was submitted */
            tasks: number;
            vcores_milli_s: number;
            /** @description For how long those did not, together */
            waited_s: number;
        };
        UsedAccounts: {
            /** Format: date-time */
            begin: string;
            complete: boolean;
            /** Format: date-time */
            end: string;
            results: components["schemas"]["UsedAccount"][];
        };
        /** @description In an hour or a day. Of hours before a release kept it, what is beside containers and amounts is 0. */
        UsedHour: {
            /** Format: date-time */
            at: string;
            containers: number;
            /** @description What they took of processors */
            cpu_ms: number;
            /** @description Of the containers, those that FAILED; not what was stopped or lost */
            failed: number;
            gpu_s: number;
            memory_mib_s: number;
            /** @description The most memory that each container took, times its seconds */
            peak_memory_mib_s: number;
            queue: string;
            /** @description That could have started when their job was submitted */
            tasks: number;
            vcores_milli_s: number;
            /** @description For how long those did not, together */
            waited_s: number;
        };
        UsedHours: {
            /** Format: date-time */
            begin: string;
            complete: boolean;
            /** Format: date-time */
            end: string;
            results: components["schemas"]["UsedHour"][];
            /** @enum {string} */
            step: "hour" | "day";
        };
        /**
         * @description ``tag``: of jobs, a job counting for each that it has; "" of those without one, "(others)" past the first of a
         *     day that are told apart.
         */
        UsedTag: {
            containers: number;
            /** @description What they took of processors */
            cpu_ms: number;
            /** @description Of the containers, those that FAILED; not what was stopped or lost */
            failed: number;
            gpu_s: number;
            memory_mib_s: number;
            /** @description The most memory that each container took, times its seconds */
            peak_memory_mib_s: number;
            queue: string;
            tag: string;
            /** @description That could have started when their job was submitted */
            tasks: number;
            vcores_milli_s: number;
            /** @description For how long those did not, together */
            waited_s: number;
        };
        UsedTags: {
            /** Format: date-time */
            begin: string;
            complete: boolean;
            /** Format: date-time */
            end: string;
            results: components["schemas"]["UsedTag"][];
        };
        /** @description ``counts``: what it has is shared out. ``stale``: its shares preempt nothing. ``used``: not for tenants. */
        UsePlace: {
            capacity: number[];
            counts: boolean;
            name: string;
            stale: boolean;
            state: string;
            used: number[] | null;
        };
        VersionCount: {
            count: number;
            version: number;
        };
        /**
         * @description The smallest change that would start it. starts: at once; else it only could start later.
         *
         *     what: wait, locality, gang (``at_once``), nodes, container
         *     (``per_container_at_most``), maximum (``raise``), or several (``changes``).
         */
        WaitChange: {
            /** @default null */
            at_once?: number | null;
            /** @default null */
            changes?: {
                [key: string]: unknown;
            }[] | null;
            /** @default null */
            per_container_at_most?: {
                [key: string]: number;
            } | null;
            /** @default null */
            raise?: {
                [key: string]: unknown;
            }[] | null;
            /** @default false */
            starts?: boolean;
            text: string;
            what: string;
        };
        /** @description Tasks of a group that wait in another sub-cluster than the job's home; reason: null until it has answered. */
        WaitElsewhere: {
            reason: components["schemas"]["WaitReason"] | null;
            /** Format: date-time */
            since: string;
            sub_cluster: string;
            waiting: number;
        };
        /** @description Seconds from ``at``: behind its own queue's work only, and behind all; null where nobody can say. */
        WaitEstimate: {
            earliest_s: number | null;
            latest_s: number | null;
            text: string;
        };
        /**
         * @description One limit that binds: what was asked of it, and what it has left.
         *
         *     queue: whose maximum or share. after: groups that must succeed first. now,
         *     most: what a limit of jobs or amounts counts, and up to what. level: how
         *     near to its data it insists to be, for ``wait_s`` more.
         */
        WaitLimit: {
            /** @default null */
            after?: string[] | null;
            asked: {
                [key: string]: number;
            };
            available: {
                [key: string]: number;
            };
            /** @default null */
            level?: string | null;
            limit: string;
            /** @default null */
            most?: number | null;
            /** @default null */
            now?: number | null;
            /** @default null */
            queue?: string | null;
            text: string;
            /** @default null */
            wait_s?: number | null;
        };
        /** @description What stands before it in its queue. */
        WaitPosition: {
            containers_ahead: number | null;
            jobs_ahead: number;
        };
        /**
         * @description Why containers of a group wait. code, text: the first of ``limits``, which stand in the order they bind.
         *
         *     waiting: containers. asked: of each. at: when this was found.
         */
        WaitReason: {
            asked: {
                [key: string]: number;
            };
            /** @default null */
            at?: string | null;
            change: components["schemas"]["WaitChange"] | null;
            code: string;
            estimate: components["schemas"]["WaitEstimate"] | null;
            limits: components["schemas"]["WaitLimit"][];
            position: components["schemas"]["WaitPosition"] | null;
            text: string;
            waiting: number;
        };
        /**
         * @description What preemption would take back, did it not only observe. ``marked``: containers that would be warned or stopped
         *     now; ``stopped``: how many would have been since its leader took over.
         */
        WouldPreempt: {
            marked: number;
            stopped: number;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
