"""How many bytes of templates a job, and a launch of its application master, come to."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("statestore", "0030_axes")]
    operations = [
        migrations.AddField("job", "spec_bytes", models.IntegerField(db_default=0)),
        migrations.AddField("masterlaunch", "spec_bytes", models.IntegerField(db_default=0)),
    ]
