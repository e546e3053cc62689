import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

_BY = {"null": True, "on_delete": django.db.models.deletion.SET_NULL, "related_name": "+"}


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("statestore", "0004_queues"),
    ]

    operations = [
        migrations.AddField("node", "health_text", models.CharField(blank=True, default="", max_length=200), False),
        migrations.AddField(
            "node",
            "duty",
            models.CharField(
                choices=[
                    ("in_service", "Takes containers"),
                    ("cordoned", "Takes no new containers; what runs, runs on"),
                    ("draining", "Is being emptied"),
                    ("decommissioned", "Is being emptied, then leaves for good"),
                ],
                default="in_service",
                max_length=16,
            ),
        ),
        migrations.AddField("node", "duty_deadline", models.DateTimeField(null=True)),
        migrations.AddField("node", "duty_message", models.CharField(blank=True, default="", max_length=255), False),
        migrations.AddField("node", "duty_at", models.DateTimeField(null=True)),
        migrations.AddField("node", "duty_by", models.ForeignKey(to=settings.AUTH_USER_MODEL, **_BY)),
        migrations.CreateModel(
            name="MaintenanceWindow",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("node", models.CharField(blank=True, max_length=63)),
                ("rack", models.CharField(blank=True, max_length=63)),
                ("labels", models.CharField(blank=True, max_length=500)),
                ("starts_at", models.DateTimeField()),
                ("ends_at", models.DateTimeField()),
                ("lead_s", models.IntegerField(default=600)),
                ("message", models.CharField(blank=True, max_length=255)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("cancelled_at", models.DateTimeField(null=True)),
                ("created_by", models.ForeignKey(to=settings.AUTH_USER_MODEL, **_BY)),
                (
                    "sub_cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="maintenance",
                        to="statestore.subcluster",
                    ),
                ),
            ],
            options={"indexes": [models.Index(fields=["sub_cluster", "ends_at"], name="maintenance_to_come")]},
        ),
        migrations.AlterField(
            "intent",
            "kind",
            models.CharField(
                choices=[
                    ("submit", "Take this job"),
                    ("kill", "Stop this job"),
                    ("priority", "Change this job's priority"),
                    ("node", "A node was registered, changed or revoked"),
                    ("policy", "A policy version is in force"),
                    ("maintenance", "A maintenance window was made or cancelled"),
                ],
                max_length=12,
            ),
        ),
    ]
