import django.db.models.deletion
from django.db import migrations, models

VERDICTS = [
    (0, "SUBMITTED"), (1, "ADMITTED"), (2, "RUNNING"), (3, "KILLING"), (10, "SUCCEEDED"), (11, "FAILED"), (12, "KILLED"),
]  # fmt: skip


def _job(**more: object) -> models.ForeignKey:
    return models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="statestore.job", **more)


class Migration(migrations.Migration):
    dependencies = [("statestore", "0011_rollouts")]
    operations = [
        migrations.CreateModel(
            name="Master",
            fields=[
                (
                    "job",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="application_master",
                        serialize=False,
                        to="statestore.job",
                    ),
                ),
                ("attempt", models.SmallIntegerField(default=0)),
                ("registered_at", models.DateTimeField(null=True)),
                ("verdict", models.SmallIntegerField(choices=VERDICTS, null=True)),
                ("message", models.TextField(blank=True)),
            ],
        ),
        migrations.CreateModel(
            name="MasterAsk",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "job_id", "no", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("no", models.SmallIntegerField()),
                ("name", models.CharField(max_length=63)),
                ("spec", models.JSONField()),
                ("target", models.BigIntegerField()),
                ("version", models.IntegerField(default=1)),
                ("job", _job(db_index=False, related_name="master_asks")),
            ],
        ),
        migrations.AddConstraint(
            model_name="masterask",
            constraint=models.UniqueConstraint(fields=("job", "name"), name="one_master_ask_of_a_name"),
        ),
        migrations.CreateModel(
            name="MasterLaunch",
            fields=[
                ("container_id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("spec", models.JSONField()),
                ("job", _job(related_name="+")),
            ],
        ),
        migrations.CreateModel(
            name="MasterEvent",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "job_id", "seq", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("seq", models.BigIntegerField()),
                ("at", models.DateTimeField()),
                ("kind", models.CharField(max_length=16)),
                ("body", models.JSONField()),
                ("job", _job(db_index=False, related_name="+")),
            ],
        ),
        migrations.AlterField(
            model_name="job",
            name="kind",
            field=models.CharField(
                choices=[
                    ("batch", "Batch"),
                    ("service", "Service"),
                    ("application", "Application, with a master of its own"),
                ],
                default="batch",
                max_length=12,
            ),
        ),
        migrations.AlterField(
            model_name="intent",
            name="kind",
            field=models.CharField(
                choices=[
                    ("submit", "Take this job"),
                    ("kill", "Stop this job"),
                    ("priority", "Change this job's priority"),
                    ("node", "A node was registered, changed or revoked"),
                    ("policy", "A policy version is in force"),
                    ("maintenance", "A maintenance window was made or cancelled"),
                    ("master", "An application master wants something"),
                    ("adopt", "Jobs of a lost sub-cluster have moved here"),
                ],
                max_length=12,
            ),
        ),
    ]
