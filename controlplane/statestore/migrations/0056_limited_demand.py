"""Load rows tell what waits for a limit, and not for room."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("statestore", "0055_use_and_waits_by_hour")]

    operations = [migrations.AddField(model_name="loadrow", name="limited", field=models.BinaryField(null=True))]
