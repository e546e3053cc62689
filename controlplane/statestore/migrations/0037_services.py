"""What is asked of services while they run: how many tasks they keep, and which of these start again."""

from django.db import migrations, models

KINDS = [
    ("submit", "Take this job"),
    ("kill", "Stop this job"),
    ("priority", "Change this job's priority"),
    ("move", "Put this job into another queue"),
    ("scale", "Keep another number of a service's tasks running"),
    ("restart", "Start tasks of a service again"),
    ("node", "A node was registered, changed or revoked"),
    ("policy", "A policy version is in force"),
    ("maintenance", "A maintenance window was made or cancelled"),
    ("master", "An application master wants something"),
    ("containers", "An application master launches or gives back containers of this sub-cluster"),
    ("adopt", "Jobs of a lost sub-cluster have moved here"),
]


class Migration(migrations.Migration):
    dependencies = [("statestore", "0035_intake")]
    operations = [
        migrations.AddField("job", "services", models.JSONField(null=True)),
        migrations.AlterField("intent", "kind", models.CharField(choices=KINDS, max_length=12)),
    ]
