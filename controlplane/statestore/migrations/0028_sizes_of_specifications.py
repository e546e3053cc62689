"""How long each job's specification is, for the limit of all that an account has live."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("statestore", "0027_tracking_pages")]
    operations = [migrations.AddField("job", "spec_bytes", models.IntegerField(db_default=0))]
