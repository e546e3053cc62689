"""What-if simulations."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("statestore", "0021_name_covers"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Simulation",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(
                        choices=[("policy", "What a policy would have done")], default="policy", max_length=8
                    ),
                ),
                ("requested_at", models.DateTimeField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Waits for a runner"),
                            ("running", "Is being simulated"),
                            ("done", "Has a result"),
                            ("failed", "Could not be done"),
                            ("cancelled", "Called off"),
                        ],
                        default="queued",
                        max_length=9,
                    ),
                ),
                ("message", models.TextField(blank=True)),
                ("progress", models.FloatField(default=0.0)),
                ("simulated_s", models.FloatField(default=0.0)),
                ("begins_at", models.DateTimeField()),
                ("ends_at", models.DateTimeField()),
                ("document", models.JSONField()),
                ("digest", models.CharField(max_length=64)),
                ("seeds", models.SmallIntegerField(default=1)),
                ("sample", models.FloatField(default=1.0)),
                ("result", models.JSONField(null=True)),
                ("page", models.BinaryField(null=True)),
                ("started_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("token", models.UUIDField(null=True)),
                ("beat_at", models.DateTimeField(null=True)),
                ("attempts", models.SmallIntegerField(default=0)),
                (
                    "base",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="statestore.policyversion"
                    ),
                ),
                (
                    "requested_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "version",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="statestore.policyversion",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("ended_at", None)), fields=["state", "id"], name="simulation_to_do"
                    ),
                    models.Index(fields=["requested_by", "-id"], name="simulation_by_requester"),
                    models.Index(fields=["digest", "-id"], name="simulation_by_digest"),
                ],
            },
        ),
    ]
