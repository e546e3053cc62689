"""New rows are dated by the database's clock, and not by that of the process which writes them. No statement is needed."""

from django.db import migrations, models

import controlplane.clock


class Migration(migrations.Migration):
    dependencies = [
        ("statestore", "0045_usage_by_tag"),
    ]

    operations = [
        migrations.AlterField(
            model_name="artifact",
            name="created_at",
            field=models.DateTimeField(default=controlplane.clock.now),
        ),
        migrations.AlterField(
            model_name="artifact",
            name="last_used_at",
            field=models.DateTimeField(default=controlplane.clock.now),
        ),
        migrations.AlterField(
            model_name="auditentry",
            name="at",
            field=models.DateTimeField(default=controlplane.clock.now),
        ),
        migrations.AlterField(
            model_name="idempotencykey",
            name="created_at",
            field=models.DateTimeField(default=controlplane.clock.now),
        ),
        migrations.AlterField(
            model_name="intent",
            name="created_at",
            field=models.DateTimeField(default=controlplane.clock.now),
        ),
        migrations.AlterField(
            model_name="jointoken",
            name="created_at",
            field=models.DateTimeField(default=controlplane.clock.now),
        ),
        migrations.AlterField(
            model_name="maintenancewindow",
            name="created_at",
            field=models.DateTimeField(default=controlplane.clock.now),
        ),
        migrations.AlterField(
            model_name="node",
            name="registered_at",
            field=models.DateTimeField(default=controlplane.clock.now),
        ),
        migrations.AlterField(
            model_name="nodecredential",
            name="created_at",
            field=models.DateTimeField(default=controlplane.clock.now),
        ),
        migrations.AlterField(
            model_name="policyversion",
            name="created_at",
            field=models.DateTimeField(default=controlplane.clock.now),
        ),
        migrations.AlterField(
            model_name="savedview",
            name="created_at",
            field=models.DateTimeField(default=controlplane.clock.now),
        ),
        migrations.AlterField(
            model_name="subcluster",
            name="created_at",
            field=models.DateTimeField(default=controlplane.clock.now),
        ),
        migrations.AlterField(
            model_name="subclustertoken",
            name="created_at",
            field=models.DateTimeField(default=controlplane.clock.now),
        ),
        migrations.AlterField(
            model_name="taskoutput",
            name="created_at",
            field=models.DateTimeField(default=controlplane.clock.now),
        ),
    ]
