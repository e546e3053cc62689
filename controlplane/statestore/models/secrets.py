"""Values that an account's jobs name, sealed."""

from django.conf import settings
from django.db import models


class Secret(models.Model):
    """Writer: web, for its owner; ``manage.py secrets`` seals it anew. Nobody else's jobs may name it."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)
    name = models.CharField(max_length=63)
    sealed = models.TextField()  # by ``statestore.sealing``, good for this owner and this name alone
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "name"], name="one_secret_of_a_name")]
