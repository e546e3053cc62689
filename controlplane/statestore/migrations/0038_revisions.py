"""What services ran before, and an intent that has them run something else."""

from django.db import migrations, models

KINDS = [
    ("submit", "Take this job"),
    ("kill", "Stop this job"),
    ("priority", "Change this job's priority"),
    ("move", "Put this job into another queue"),
    ("scale", "Keep another number of a service's tasks running"),
    ("restart", "Start tasks of a service again"),
    ("update", "Roll another specification of a service out"),
    ("node", "A node was registered, changed or revoked"),
    ("policy", "A policy version is in force"),
    ("maintenance", "A maintenance window was made or cancelled"),
    ("master", "An application master wants something"),
    ("containers", "An application master launches or gives back containers of this sub-cluster"),
    ("adopt", "Jobs of a lost sub-cluster have moved here"),
]


class Migration(migrations.Migration):
    dependencies = [("statestore", "0037_services")]
    operations = [
        migrations.AddField("job", "revisions", models.JSONField(null=True)),
        migrations.AlterField("intent", "kind", models.CharField(choices=KINDS, max_length=12)),
    ]
