"""When a piece of a log came, by the database's clock: what both streams of a container are merged by."""

from django.db import migrations, models

# Of what came before this, no more than its day is known.
ADD = """ALTER TABLE statestore_log_chunk ADD COLUMN at timestamptz;
ALTER TABLE statestore_log_chunk ALTER COLUMN at SET DEFAULT statement_timestamp();
"""


class Migration(migrations.Migration):
    dependencies = [("statestore", "0033_policy_digest")]
    operations = [
        migrations.RunSQL(
            ADD,
            "ALTER TABLE statestore_log_chunk DROP COLUMN at",
            [migrations.AddField("logchunk", "at", models.DateTimeField(null=True))],
        ),
    ]
