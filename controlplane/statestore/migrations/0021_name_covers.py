"""The index of names holds what else the job list asks, so that many matches are counted out without their rows."""

from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("statestore", "0020_node_series"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveIndex(model_name="job", name="job_by_name"),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                fields=["name"],
                include=("id", "owner", "queue", "state", "kind"),
                name="job_by_name",
                opclasses=["varchar_pattern_ops"],
            ),
        ),
    ]
