"""Who runs which policy version, and versions that are put in force in stages."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

FILL = "UPDATE statestore_policyversion SET activated_at = created_at"
STATES = [
    ("pending", "Has not begun"),
    ("running", "A stage's sub-clusters are taking it in"),
    ("soaking", "A stage's sub-clusters run it and are watched"),
    ("paused", "Waits for an operator"),
    ("rolling_back", "The old content is being put in force again"),
    ("completed", "In force everywhere"),
    ("rolled_back", "The old content is in force again"),
    ("failed", "Given up: another version was put in force meanwhile"),
]
KINDS = [("rm", "The RM of a sub-cluster"), ("router", "A web process"), ("gpg", "The global policy generator")]
ON_BREACH = [("pause", "Pause"), ("rollback", "Put the old content in force again")]


def _version(null: bool = False, related_name: str | None = "+") -> models.ForeignKey:
    return models.ForeignKey(
        null=null,
        on_delete=django.db.models.deletion.PROTECT,
        related_name=related_name,
        to="statestore.policyversion",
    )


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("statestore", "0010_policy_changes"),
    ]
    operations = [
        migrations.AddField("policyversion", "activated_at", models.DateTimeField(null=True)),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
        migrations.AddField("subcluster", "components_version", _version(null=True, related_name=None)),
        migrations.AddField("subcluster", "components_at", models.DateTimeField(null=True)),
        migrations.CreateModel(
            name="Acknowledgement",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(choices=KINDS, max_length=8)),
                ("name", models.CharField(max_length=128)),
                ("epoch", models.IntegerField(default=0)),
                ("version", models.BigIntegerField()),
                ("at", models.DateTimeField()),
                ("seconds", models.FloatField(null=True)),
                ("seen_at", models.DateTimeField()),
                ("nodes", models.JSONField(default=dict)),
                ("laggards", models.JSONField(default=list)),
                ("spread", models.JSONField(default=list)),
                ("slowest_s", models.FloatField(null=True)),
                (
                    "sub_cluster",
                    models.OneToOneField(
                        null=True, on_delete=django.db.models.deletion.CASCADE, to="statestore.subcluster"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("kind", "name"), name="one_acknowledgement_each")]
            },
        ),
        migrations.CreateModel(
            name="Rollout",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("state", models.CharField(choices=STATES, default="pending", max_length=16)),
                ("live", models.BooleanField(default=True)),
                ("stages", models.JSONField()),
                ("guards", models.JSONField(default=dict)),
                ("on_breach", models.CharField(choices=ON_BREACH, default="rollback", max_length=8)),
                ("stage", models.SmallIntegerField(default=0)),
                ("baseline", models.JSONField(default=dict)),
                ("metrics", models.JSONField(default=dict)),
                ("message", models.TextField(blank=True)),
                ("created_at", models.DateTimeField()),
                ("stage_at", models.DateTimeField(null=True)),
                ("soak_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "author",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("version", _version(related_name="rollouts")),
                ("from_version", _version()),
                ("rollback_version", _version(null=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("live", True)), fields=("live",), name="one_live_rollout"
                    )
                ]
            },
        ),
    ]
