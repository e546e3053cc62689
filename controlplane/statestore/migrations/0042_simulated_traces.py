"""Traces that operators hand in, and simulations of them instead of the recorded history."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("statestore", "0041_execs"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="SimulationTrace",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("added_at", models.DateTimeField()),
                ("name", models.CharField(max_length=200)),
                ("kind", models.CharField(max_length=16)),
                ("jobs", models.IntegerField()),
                ("containers", models.IntegerField()),
                ("users", models.IntegerField()),
                ("span_s", models.FloatField()),
                ("queues", models.JSONField()),
                ("skipped", models.JSONField()),
                ("history", models.BinaryField()),
                ("nodes", models.IntegerField(null=True)),
                ("machines", models.JSONField(null=True)),
                (
                    "added_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={"indexes": [models.Index(fields=["added_by", "-id"], name="simulation_trace_by_account")]},
        ),
        migrations.AddField("simulation", "own_nodes", models.BooleanField(null=True)),
        migrations.AddField(
            "simulation", "trace_name", models.CharField(blank=True, default="", max_length=200), False
        ),
        migrations.AddField(
            "simulation",
            "trace",
            models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="statestore.simulationtrace",
            ),
        ),
    ]
