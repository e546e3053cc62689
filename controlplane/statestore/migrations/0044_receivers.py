"""Where accounts hear of their jobs, and what is to be told."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("statestore", "0042_simulated_traces"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Receiver",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=63)),
                (
                    "kind",
                    models.CharField(choices=[("webhook", "A POST to an address"), ("mail", "A mail")], max_length=8),
                ),
                ("address", models.CharField(blank=True, max_length=300)),
                ("sealed", models.TextField(blank=True)),
                ("every_job", models.JSONField(default=list)),
                ("created_at", models.DateTimeField()),
                ("changed_at", models.DateTimeField()),
                ("free_at", models.DateTimeField()),
                ("claim", models.IntegerField(default=0)),
                ("failures", models.SmallIntegerField(default=0)),
                ("error", models.TextField(blank=True)),
                (
                    "owner",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Notification",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("event", models.CharField(max_length=12)),
                ("at", models.DateTimeField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "To be told"),
                            ("sent", "The receiver has taken it"),
                            ("given_up", "The receiver did not take it for too long"),
                        ],
                        default="waiting",
                        max_length=8,
                    ),
                ),
                ("attempts", models.SmallIntegerField(default=0)),
                ("error", models.TextField(blank=True)),
                ("tried_at", models.DateTimeField(null=True)),
                (
                    "job",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="statestore.job",
                    ),
                ),
                (
                    "receiver",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="notifications",
                        to="statestore.receiver",
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            "receiver", models.UniqueConstraint(fields=("owner", "name"), name="one_receiver_of_a_name")
        ),
        migrations.AddIndex("notification", models.Index(fields=["receiver", "-id"], name="notification_of_receiver")),
        migrations.AddIndex(
            "notification",
            models.Index(
                condition=models.Q(("state", "waiting")), fields=["receiver", "attempts", "id"], name="to_be_told"
            ),
        ),
        migrations.AddConstraint(
            "notification", models.UniqueConstraint(fields=("job", "receiver", "event"), name="told_once")
        ),
    ]
