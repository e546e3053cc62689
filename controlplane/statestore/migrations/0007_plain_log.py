from django.db import migrations

# Compressing the log of transitions took Postgres longer than all the rest of a commit.
PLAIN = "ALTER TABLE statestore_round ALTER COLUMN transitions SET STORAGE EXTERNAL"
COMPRESSED = "ALTER TABLE statestore_round ALTER COLUMN transitions SET STORAGE EXTENDED"


class Migration(migrations.Migration):
    dependencies = [("statestore", "0006_admission")]
    operations = [migrations.RunSQL(PLAIN, COMPRESSED)]
