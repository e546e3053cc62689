"""What people keep of the screens they look at."""

from django.conf import settings
from django.db import models

from controlplane import clock


class SavedView(models.Model):
    """Filters of a list under a name of its account's own. Writer: web.

    ``query`` is a query string as the list's address has it.
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="saved_views")
    name = models.CharField(max_length=63)
    query = models.CharField(max_length=2000, blank=True)
    created_at = models.DateTimeField(default=clock.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "name"], name="one_view_of_a_name")]
