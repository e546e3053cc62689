"""Where web finds an endpoint, apart from what its node calls itself."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("statestore", "0028_join_tokens_of_nodes")]
    operations = [migrations.AddField("endpoint", "reach", models.CharField(max_length=255, null=True))]
