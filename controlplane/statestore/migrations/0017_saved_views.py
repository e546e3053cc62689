import django.contrib.postgres.indexes
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("statestore", "0016_series"),
    ]
    operations = [
        migrations.CreateModel(
            name="SavedView",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=63)),
                ("query", models.CharField(blank=True, max_length=2000)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="saved_views",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="savedview",
            constraint=models.UniqueConstraint(fields=("owner", "name"), name="one_view_of_a_name"),
        ),
        migrations.AlterField(
            model_name="intent",
            name="kind",
            field=models.CharField(
                choices=[
                    ("submit", "Take this job"),
                    ("kill", "Stop this job"),
                    ("priority", "Change this job's priority"),
                    ("move", "Put this job into another queue"),
                    ("node", "A node was registered, changed or revoked"),
                    ("policy", "A policy version is in force"),
                    ("maintenance", "A maintenance window was made or cancelled"),
                    ("master", "An application master wants something"),
                    ("adopt", "Jobs of a lost sub-cluster have moved here"),
                ],
                max_length=12,
            ),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(fields=["submitted_at"], name="job_by_submission"),
        ),
        migrations.RemoveIndex(model_name="job", name="job_by_owner"),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(fields=["owner", "-id"], include=["queue", "state", "kind"], name="job_by_owner"),
        ),
        migrations.RemoveIndex(model_name="job", name="job_by_queue"),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(fields=["queue", "-id"], include=["owner", "state", "kind"], name="job_by_queue"),
        ),
        migrations.RemoveIndex(model_name="job", name="job_by_state"),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(fields=["state", "-id"], include=["kind"], name="job_by_state"),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(fields=["kind", "-id"], include=["state"], name="job_by_kind"),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(fields=["name"], name="job_by_name", opclasses=["varchar_pattern_ops"]),
        ),
        migrations.AddIndex(
            model_name="job",
            index=django.contrib.postgres.indexes.GinIndex(
                fields=["tags"],
                opclasses=["jsonb_path_ops"],
                condition=models.Q(("tags", []), _negated=True),
                fastupdate=False,
                name="job_by_tag",
            ),
        ),
        migrations.AddIndex(
            model_name="jobevent",
            index=models.Index(fields=["job", "id"], name="event_of_job"),
        ),
        migrations.AlterField(
            model_name="jobevent",
            name="job",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="events",
                to="statestore.job",
            ),
        ),
        migrations.AlterField(  # its index says nothing that job_by_owner does not
            model_name="job",
            name="owner",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="jobs",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
    ]
