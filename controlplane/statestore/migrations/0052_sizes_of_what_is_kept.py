"""Who keeps an artifact is looked up by account, with the size beside it."""

from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("statestore", "0051_claims_of_who_has_counted")]

    operations = [
        migrations.AddField(model_name="artifactowner", name="size", field=models.BigIntegerField(db_default=0)),
        migrations.AlterField(
            model_name="artifactowner",
            name="owner",
            field=models.ForeignKey(db_index=False, on_delete=models.deletion.CASCADE, to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddIndex(
            model_name="artifactowner", index=models.Index(fields=["owner", "-size", "-id"], name="artifact_by_owner")
        ),
    ]
