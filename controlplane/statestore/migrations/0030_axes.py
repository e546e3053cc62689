"""Functions that add amounts up look the resources up."""

from pathlib import Path

from django.db import migrations

SCHEMA = Path(__file__).parent.parent / "resources.sql"


class Migration(migrations.Migration):
    dependencies = [("statestore", "0029_where_endpoints_are_reached")]
    operations = [migrations.RunSQL(SCHEMA.read_text(), migrations.RunSQL.noop)]
