import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

_BY = {"null": True, "on_delete": django.db.models.deletion.SET_NULL, "related_name": "+"}


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("statestore", "0013_endpoints"),
    ]
    operations = [
        migrations.AlterField(
            "subcluster",
            "state",
            models.CharField(
                choices=[
                    ("joining", "Registered; no RM has led it yet, or it has no node"),
                    ("running", "Running"),
                    ("draining", "Is being emptied: nothing new is sent here"),
                    ("lost", "Its RM and its nodes are silent; its jobs have new homes"),
                    ("decommissioned", "Has left for good"),
                ],
                default="running",
                max_length=16,
            ),
        ),
        migrations.AddField(
            "subcluster", "state_message", models.CharField(blank=True, default="", max_length=255), False
        ),
        migrations.AddField("subcluster", "state_at", models.DateTimeField(null=True)),
        migrations.AddField("subcluster", "state_by", models.ForeignKey(to=settings.AUTH_USER_MODEL, **_BY)),
        migrations.AddField("subcluster", "deadline", models.DateTimeField(null=True)),
        migrations.AddField("subcluster", "lost_from", models.CharField(blank=True, default="", max_length=16), False),
        migrations.CreateModel(
            name="SubClusterToken",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("sha256", models.CharField(max_length=64, unique=True)),
                ("name", models.CharField(blank=True, max_length=63)),
                ("note", models.CharField(blank=True, max_length=255)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("expires_at", models.DateTimeField()),
                ("used_at", models.DateTimeField(null=True)),
                ("created_by", models.ForeignKey(to=settings.AUTH_USER_MODEL, **_BY)),
                (
                    "sub_cluster",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.SET_NULL, to="statestore.subcluster"
                    ),
                ),
            ],
        ),
    ]
