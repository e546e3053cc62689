"""Join tokens for one node's name, which they register once."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("statestore", "0027_tracking_pages")]
    operations = [
        migrations.AddField("jointoken", "node", models.CharField(blank=True, default="", max_length=63), False),
        migrations.AddField("jointoken", "used_at", models.DateTimeField(null=True)),
    ]
