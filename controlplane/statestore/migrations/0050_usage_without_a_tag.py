"""The empty tag is that of jobs without one; what was past the first of a day has a name of its own."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("statestore", "0048_waits_by_tag")]

    operations = [
        migrations.RunSQL(
            "UPDATE statestore_usagetag SET tag = '(others)' WHERE tag = ''",
            "DELETE FROM statestore_usagetag WHERE tag = ''; UPDATE statestore_usagetag SET tag = '' WHERE tag = '(others)'",
        )
    ]
