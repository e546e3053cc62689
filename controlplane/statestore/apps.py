from django.apps import AppConfig


class StateStoreConfig(AppConfig):
    name = "controlplane.statestore"
    label = "statestore"
    default_auto_field = "django.db.models.BigAutoField"
