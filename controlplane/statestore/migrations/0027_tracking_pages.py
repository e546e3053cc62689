"""The page that an application master names."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("statestore", "0026_declared_by_masters")]
    operations = [migrations.AddField("master", "tracking", models.JSONField(null=True))]
