"""Commands that people run in live containers."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("statestore", "0040_secrets"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Exec",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("container_id", models.BigIntegerField()),
                ("sub_cluster_id", models.SmallIntegerField()),
                ("node_id", models.BigIntegerField()),
                ("order", models.JSONField()),
                ("created_at", models.DateTimeField()),
                ("seen_at", models.DateTimeField()),
                ("attached_at", models.DateTimeField(null=True)),
                ("joined_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "job",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="statestore.job"
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="exec",
            index=models.Index(condition=models.Q(("ended_at", None)), fields=["node_id"], name="exec_that_lives"),
        ),
    ]
