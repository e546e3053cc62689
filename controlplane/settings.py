"""Settings of the control plane. Every value comes from the environment; docs/operators.md lists them.

``manage.py`` fills the environment from ``HYDRA_HOME`` when the embedded
stores are used, so this module never looks at files of its own accord.
"""

import os
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

from controlplane import logs

BASE_DIR = Path(__file__).resolve().parent.parent


def env(name: str, default: str = "") -> str:
    return os.environ.get(name, default)


def flag(name: str, default: bool) -> bool:
    """A yes/no setting; anything that is neither says so instead of meaning no."""
    value = env(name, "1" if default else "0").lower()
    if value not in {"1", "0", "true", "false", "yes", "no"}:
        raise ImproperlyConfigured(f"{name} is {value!r}; use 1 or 0")
    return value in {"1", "true", "yes"}


def number(name: str, default: float) -> float:
    try:
        return float(env(name) or default)
    except ValueError:
        raise ImproperlyConfigured(f"{name} is {env(name)!r}; use a number") from None


def places(name: str, default: int) -> int:
    """How many there may be at once: one at least, or nobody would be served."""
    value = number(name, default)
    if value < 1:
        raise ImproperlyConfigured(f"{name} is {env(name)!r}; use a whole number from 1")
    return int(value)


def choice(name: str, words: tuple[str, ...]) -> str:
    """One of the words; the first unless the environment says otherwise."""
    value = env(name) or words[0]
    if value.lower() not in (word.lower() for word in words):
        raise ImproperlyConfigured(f"{name} is {value!r}; use {' or '.join(words)}")
    return value


# A session whose server is gone ends in seconds, not when TCP gives up; and one whose client is, before what it has
# locked keeps a sub-cluster from going on.
_LIVING = {
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
    "options": "-c idle_in_transaction_session_timeout=60s -c tcp_keepalives_idle=10 -c tcp_keepalives_count=3",
}


def database(url: str) -> dict[str, Any]:
    """``postgres://user:password@host:port/name?sslmode=verify-full&host=/socket/folder`` as Django wants it."""
    parts = urlsplit(url)
    if parts.scheme not in {"postgres", "postgresql"}:
        raise ImproperlyConfigured(f"DATABASE_URL must start with postgres://, not {parts.scheme!r}")
    options = _LIVING | {key: values[-1] for key, values in parse_qs(parts.query).items()}
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": options.pop("host", unquote(parts.hostname or "")),
        "PORT": str(parts.port or ""),
        "CONN_MAX_AGE": 600,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {"connect_timeout": 2, **options},
    }


DEBUG = flag("HYDRA_DEBUG", False)
SECRET_KEY = env("HYDRA_SECRET_KEY", "insecure-only-for-tests-and-tools" if DEBUG else "")
# What secrets of accounts are sealed with: the first key seals, the others open what they have sealed.
_own_keys = [key.strip() for key in env("HYDRA_SECRETS_KEYS").split(",") if key.strip()]
SECRETS_KEYS = _own_keys or [SECRET_KEY]
if _own_keys and len(_own_keys[0]) < 32:
    raise ImproperlyConfigured("HYDRA_SECRETS_KEYS begins with less than 32 characters; use openssl rand -base64 32")
ALLOWED_HOSTS = [h for h in env("HYDRA_ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]").split(",") if h]
PUBLIC_URL = env("HYDRA_PUBLIC_URL", "http://127.0.0.1:8470")  # how nodes and people reach web
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL]
LOGGING = logs.configuration(
    choice("HYDRA_LOG_FORMAT", logs.FORMATS).lower(),
    choice("HYDRA_LOG_LEVEL", ("INFO", "DEBUG", "WARNING", "ERROR")).upper(),
)

DATABASES = {"default": database(env("DATABASE_URL", "postgres://hydra@localhost/hydra"))}
REDIS_URL = env("REDIS_URL", "redis://localhost:6379/0")  # nodes, hints
BROKER_URL = env("HYDRA_BROKER_URL", REDIS_URL)  # Celery and Channels; apart, so that nodes cannot starve it
NODE_REDIS_URL = env("HYDRA_NODE_REDIS_URL", REDIS_URL)  # the address of REDIS_URL as nodes reach it


def mail(url: str) -> dict[str, Any]:
    """``smtp://user:password@host:port`` as Django wants it; ``smtps``: TLS at once, ``smtp+starttls``: later."""
    parts = urlsplit(url)
    usual = {"smtp": 25, "smtp+starttls": 587, "smtps": 465}
    if parts.scheme not in usual or not parts.hostname:
        raise ImproperlyConfigured("HYDRA_MAIL_URL must be smtp://HOST, smtp+starttls://HOST or smtps://HOST")
    return {
        "EMAIL_HOST": parts.hostname,
        "EMAIL_PORT": parts.port or usual[parts.scheme],
        "EMAIL_HOST_USER": unquote(parts.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(parts.password or ""),
        "EMAIL_USE_SSL": parts.scheme == "smtps",
        "EMAIL_USE_TLS": parts.scheme == "smtp+starttls",
    }


# Mail to accounts of what becomes of their jobs: none unless there is a server for it.
MAIL_ON = bool(env("HYDRA_MAIL_URL"))
if MAIL_ON:
    globals().update(mail(env("HYDRA_MAIL_URL")))
DEFAULT_FROM_EMAIL = env("HYDRA_MAIL_FROM", "hydra@localhost")
EMAIL_TIMEOUT = 5  # seconds of each step

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "rest_framework",
    "knox",
    "drf_spectacular",
    "channels",
    "rules",
    "controlplane.accounts",
    "controlplane.statestore",
    "controlplane.policy",
    "controlplane.router",
    "controlplane.rm",
    "controlplane.gpg",
    "controlplane.whatif",
    "controlplane.dashboard",
    "controlplane.embedded",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "controlplane.router.static.static_files",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}]
ROOT_URLCONF = "controlplane.urls"
ASGI_APPLICATION = "controlplane.asgi.application"
AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["rules.permissions.ObjectPermissionBackend", "django.contrib.auth.backends.ModelBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
USE_I18N = False

STATIC_URL = "/static/"
STATIC_ROOT = BASE_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "frontend" / "dist"]
WHITENOISE_USE_FINDERS = True  # the committed bundle is served as it lies
WHITENOISE_IMMUTABLE_FILE_TEST = r"^.+\.[0-9a-f]{12}\.[a-z]+$"  # names the bundler gives: kept by browsers for good
MEDIA_ROOT = Path(env("HYDRA_ARTIFACTS_DIR", str(BASE_DIR / ".hydra" / "artifacts")))
STORAGES = {
    "default": {"BACKEND": env("HYDRA_STORAGE_BACKEND", "controlplane.wholefiles.WholeFiles")},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}

# TLS. Behind a terminating proxy set HYDRA_HTTPS=1; uvicorn itself takes HYDRA_TLS_CERT and HYDRA_TLS_KEY.
HTTPS = flag("HYDRA_HTTPS", PUBLIC_URL.startswith("https://"))
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SECURE_SSL_REDIRECT = flag("HYDRA_SSL_REDIRECT", HTTPS)
BEHIND_PROXY = flag("HYDRA_BEHIND_PROXY", False)
# Whose X-Forwarded-* uvicorn believes: addresses and networks, none unless there is a proxy.
_trusted = env("HYDRA_TRUSTED_PROXIES", "127.0.0.1,::1" if BEHIND_PROXY else "")
TRUSTED_PROXIES = [address.strip() for address in _trusted.split(",") if address.strip()]
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if BEHIND_PROXY else None
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CSRF_FAILURE_VIEW = "controlplane.router.problems.csrf_failure"
SESSION_ENGINE = "controlplane.accounts.sessions"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"

CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [{"address": BROKER_URL, "socket_timeout": None}], "prefix": "ch"},
    }
}

# What a web process remembers. Rates have room of their own: of so many addresses the least used are forgotten first.
_MEMORY = "django.core.cache.backends.locmem.LocMemCache"
CACHES = {
    "default": {"BACKEND": _MEMORY, "OPTIONS": {"MAX_ENTRIES": 10_000}},
    "throttles": {"BACKEND": _MEMORY, "LOCATION": "throttles", "OPTIONS": {"MAX_ENTRIES": 100_000}},
}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "controlplane.accounts.authentication.HashedTokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_RENDERER_CLASSES": [
        "controlplane.router.rendering.Json",
        "rest_framework.renderers.BrowsableAPIRenderer",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "controlplane.router.problems.problem_response",
    "DEFAULT_THROTTLE_RATES": {
        "user": env("HYDRA_RATE_USER", "600/s"),
        "anonymous": env("HYDRA_RATE_ANONYMOUS", "10/s"),
        "master": env("HYDRA_RATE_MASTER", "50/s"),
        "login": env("HYDRA_RATE_LOGIN", "30/min"),
        "join": env("HYDRA_RATE_JOIN", "100/s"),
        "proxy": env("HYDRA_RATE_PROXY", "50/s"),
        "token": env("HYDRA_RATE_TOKEN", "300/min"),
    },
    "NUM_PROXIES": 0,  # no header says where a request comes from; uvicorn knows which proxies to believe
}
REST_KNOX = {"TOKEN_TTL": timedelta(hours=number("HYDRA_TOKEN_HOURS", 240)), "TOKEN_PREFIX": ""}
DATA_UPLOAD_MAX_MEMORY_SIZE = 32 << 20  # a bulk submit of the largest kind; artifacts are streamed
SPECTACULAR_SETTINGS = {
    "TITLE": "Hydra",
    "DESCRIPTION": "Submit jobs to a federated cluster, follow them, and see how it shares its machines.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "OAS_VERSION": "3.1.0",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SCHEMA_PATH_PREFIX_TRIM": False,
    "POSTPROCESSING_HOOKS": [],  # words stay with the field they belong to: no names to invent for equal sets
}

# What the cluster does. Durations in seconds unless the name says otherwise.
HYDRA = {
    "lease_s": number("HYDRA_LEASE_S", 3),  # a leader that stops renewing is replaced after this
    "read_ahead_jobs": int(number("HYDRA_READ_AHEAD_JOBS", 100_000)),  # of others' sub-clusters, by each worker
    "round_interval_ms": number("HYDRA_ROUND_INTERVAL_MS", 100),  # the most that passes between rounds under load
    "heartbeat_s": number("HYDRA_HEARTBEAT_S", 1),
    "node_lost_s": number("HYDRA_NODE_LOST_S", 8),
    "max_disconnect_s": number("HYDRA_MAX_DISCONNECT_S", 600),  # a cut-off node stops its containers after this
    "container_lease_s": number("HYDRA_CONTAINER_LEASE_S", 7200),  # how long a grant may wait for its start
    "history_days": number("HYDRA_HISTORY_DAYS", 14),
    "series_10s_hours": number("HYDRA_SERIES_10S_HOURS", 6),  # history over time, by its resolution
    "series_1min_days": number("HYDRA_SERIES_1MIN_DAYS", 3),
    "series_10min_days": number("HYDRA_SERIES_10MIN_DAYS", 60),
    "series_nodes_hours": number("HYDRA_SERIES_NODES_HOURS", 24),  # a sample a minute of each node
    "series_queues": int(number("HYDRA_SERIES_QUEUES", 200)),  # that have windows of 10 s; five times more of 1 min
    "metrics_queues": int(number("HYDRA_METRICS_QUEUES", 200)),  # at /metrics, the largest shares first
    "audit_days": number("HYDRA_AUDIT_DAYS", 730),
    "log_days": number("HYDRA_LOG_DAYS", 7),
    "log_max_mib": number("HYDRA_LOG_MAX_MIB", 4),  # kept per stream and container
    "artifact_max_mib": number("HYDRA_ARTIFACT_MAX_MIB", 512),
    "artifacts_free_mib": number("HYDRA_ARTIFACTS_FREE_MIB", 1024),  # of their disk, which may be the StateStore's
    "artifacts_user_gib": number("HYDRA_ARTIFACTS_USER_GIB", 100),  # that an account keeps; 0: without bound
    "artifacts_user_files": int(number("HYDRA_ARTIFACTS_USER_FILES", 100_000)),
    "artifact_days": number("HYDRA_ARTIFACT_DAYS", 14),  # unused ones are removed after this
    "max_tasks_per_job": number("HYDRA_MAX_TASKS_PER_JOB", 1_000_000),
    "max_live_jobs_per_user": number("HYDRA_MAX_LIVE_JOBS_PER_USER", 20_000),
    "max_live_tasks_per_user": number("HYDRA_MAX_LIVE_TASKS_PER_USER", 10_000_000),
    "max_schedules_per_user": number("HYDRA_MAX_SCHEDULES_PER_USER", 200),
    "max_secrets_per_user": number("HYDRA_MAX_SECRETS_PER_USER", 100),
    "max_receivers_per_user": number("HYDRA_MAX_RECEIVERS_PER_USER", 10),
    "notification_days": number("HYDRA_NOTIFICATION_DAYS", 7),  # what became of each is kept so long
    # Names (with *), addresses and networks that webhooks may lead to although they are not public.
    "webhook_hosts": [name.strip() for name in env("HYDRA_WEBHOOK_HOSTS", "").split(",") if name.strip()],
    "job_max_kib": number("HYDRA_JOB_MAX_KIB", 2048),  # what a job says, with its files' names: Redis holds it
    "live_jobs_max_mib_per_user": number("HYDRA_LIVE_JOBS_MAX_MIB_PER_USER", 64),  # all live jobs of an account
    "writes_per_hour": number("HYDRA_WRITES_PER_HOUR", 100_000),  # of an account, in each process; 0: any number
    "history_jobs_per_user": number("HYDRA_HISTORY_JOBS_PER_USER", 1_000_000),  # ended ones; 0: any number
    "history_max_gib_per_user": number("HYDRA_HISTORY_MAX_GIB_PER_USER", 10),  # what they say; 0: any amount
    "master_launches_max_mib": number("HYDRA_MASTER_LAUNCHES_MAX_MIB", 64),  # of live containers, per application
    "master_max_asks": int(number("HYDRA_MASTER_MAX_ASKS", 200)),  # of different ids, per application
    "master_max_containers": int(number("HYDRA_MASTER_MAX_CONTAINERS", 10_000)),  # wanted or running at once
    "master_grant_s": number("HYDRA_MASTER_GRANT_S", 30),  # a grant nobody launches is taken back after this
    "body_wait_s": number("HYDRA_BODY_WAIT_S", 30),  # how long a body may take to come, and longer by its size
    "account_share": number("HYDRA_ACCOUNT_SHARE", 0.2),  # of a web process' processor, of each account beside others
    "sockets_address": int(number("HYDRA_SOCKETS_ADDRESS", 2000)),  # open at once, of each web process
    "sockets_user": int(number("HYDRA_SOCKETS_USER", 200)),
    "connections_address": places("HYDRA_CONNECTIONS_ADDRESS", 1000),  # that wait for a request, the next one too
    "bodies_address": places("HYDRA_BODIES_ADDRESS", 128),  # that come at once, of whom is not known
    "bodies_user": places("HYDRA_BODIES_USER", 64),  # the same of each account and each node
    "downloads_address": places("HYDRA_DOWNLOADS_ADDRESS", 128),  # streamed answers that are sent at once
    "downloads_user": places("HYDRA_DOWNLOADS_USER", 32),
    "proxy_tenant": int(number("HYDRA_PROXY_TENANT", 128)),  # exchanges and sockets with one tenant's pages at once
    "proxy_answer_s": number("HYDRA_PROXY_ANSWER_S", 60),  # how long a job's page may take to begin its answer
    # Names (with *), addresses and networks of nodes that web's proxy connects to as they call themselves.
    "node_hosts": [name.strip() for name in env("HYDRA_NODE_HOSTS", "").split(",") if name.strip()],
    "execs_user": int(number("HYDRA_EXECS_USER", 10)),  # commands in containers at once, of each account; 0: none
    "execs": int(number("HYDRA_EXECS", 200)),  # of all
    "exec_idle_s": number("HYDRA_EXEC_IDLE_S", 1800),  # one that neither says nor hears anything ends after this
    "compile_after_s": number("HYDRA_COMPILE_AFTER_S", 3),  # of the processor, for interpreted plans
    "check_invariants": flag("HYDRA_CHECK_INVARIANTS", False),  # after every round; for tests
    "lease_key_id": int(number("HYDRA_LEASE_KEY_ID", 1)),  # raise it to roll the keys; the previous one stays valid
}
