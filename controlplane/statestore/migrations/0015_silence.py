from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("statestore", "0014_sub_cluster_life")]
    operations = [
        migrations.AddField("lease", "silent_since", models.DateTimeField(null=True)),
        migrations.AddField("lease", "silent_seen", models.DateTimeField(null=True)),
    ]
