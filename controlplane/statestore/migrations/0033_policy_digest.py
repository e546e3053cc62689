"""What the document of a policy version says, as one number, by which answers about it are found and kept."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("statestore", "0032_audit_lists")]
    operations = [
        migrations.AddField("policyversion", "digest", models.CharField(max_length=64, blank=True, db_default="")),
    ]
