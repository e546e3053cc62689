"""Queues get capacities per partition and resource, orderings, limits of users and jobs, and rights of their own."""

import django.db.models.deletion
from django.db import migrations, models

# Shares of the parent, the same for every resource, in the form of statestore.capacities.
CAPACITIES = """
UPDATE statestore_queue SET
    capacities = jsonb_build_object('', jsonb_build_object(
        'guaranteed', jsonb_build_object('units', '[0, 0, 0]'::jsonb,
            'share', jsonb_build_array(guaranteed, guaranteed, guaranteed)),
        'maximum', jsonb_build_object('units', '[0, 0, 0]'::jsonb,
            'share', jsonb_build_array(maximum, maximum, maximum)))),
    state = CASE WHEN stopped THEN 'stopped' ELSE 'running' END
"""


class Migration(migrations.Migration):
    dependencies = [("statestore", "0003_retries")]

    operations = [
        migrations.AddField(
            model_name="queue",
            name="capacities",
            field=models.JSONField(default=dict),
        ),
        migrations.AddField(
            model_name="queue",
            name="default_partition",
            field=models.CharField(blank=True, default="", max_length=63),
        ),
        migrations.AddField(
            model_name="queue",
            name="default_priority",
            field=models.SmallIntegerField(default=0),
        ),
        migrations.AddField(
            model_name="queue",
            name="max_am_share",
            field=models.FloatField(default=1.0),
        ),
        migrations.AddField(
            model_name="queue",
            name="max_priority",
            field=models.SmallIntegerField(default=499),
        ),
        migrations.AddField(
            model_name="queue",
            name="max_running_jobs",
            field=models.IntegerField(null=True),
        ),
        migrations.AddField(
            model_name="queue",
            name="max_running_jobs_per_user",
            field=models.IntegerField(null=True),
        ),
        migrations.AddField(
            model_name="queue",
            name="ordering",
            field=models.CharField(
                choices=[
                    ("fifo", "By submission"),
                    ("fair", "Every job its share"),
                    ("priority", "By priority, then by submission"),
                ],
                default="priority",
                max_length=8,
            ),
        ),
        migrations.AddField(
            model_name="queue",
            name="preemptable",
            field=models.BooleanField(default=True),
        ),
        migrations.AddField(
            model_name="queue",
            name="state",
            field=models.CharField(
                choices=[("running", "Takes jobs"), ("stopped", "Takes no new jobs")], default="running", max_length=8
            ),
        ),
        migrations.AddField(
            model_name="queue",
            name="user_maximum",
            field=models.FloatField(default=1.0),
        ),
        migrations.AlterField(
            model_name="queue",
            name="weight",
            field=models.FloatField(null=True),
        ),
        migrations.CreateModel(
            name="QueueGrant",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("queue", models.CharField(max_length=255)),
                ("principal", models.CharField(max_length=160)),
                ("level", models.CharField(max_length=8)),
                (
                    "version",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="grants",
                        to="statestore.policyversion",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["version", "principal"], name="grant_by_principal")],
            },
        ),
        migrations.RunSQL(CAPACITIES, migrations.RunSQL.noop),
        migrations.RemoveField(
            model_name="queue",
            name="guaranteed",
        ),
        migrations.RemoveField(
            model_name="queue",
            name="maximum",
        ),
        migrations.RemoveField(
            model_name="queue",
            name="stopped",
        ),
    ]
