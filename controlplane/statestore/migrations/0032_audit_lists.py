"""The audit log is listed by action, by actor and action, and by what its targets begin with."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

# By expressions. Only equality with a value keeps the order of what follows, which IS NULL does not, so no actor is 0;
# and by the negative number, because by the number itself Postgres would rather walk the primary key.
LISTS = """
CREATE INDEX audit_by_action ON statestore_auditentry (action varchar_pattern_ops, (-id));
CREATE INDEX audit_by_actor ON statestore_auditentry (coalesce(actor_id, 0), action varchar_pattern_ops, (-id))
"""


class Migration(migrations.Migration):
    dependencies = [
        ("statestore", "0031_spec_bytes"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]
    operations = [
        migrations.RemoveIndex(model_name="auditentry", name="audit_by_action"),
        migrations.AlterField(
            model_name="auditentry",
            name="actor",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddIndex(
            model_name="auditentry",
            index=models.Index(
                fields=["target", "id"], name="audit_by_target", opclasses=["varchar_pattern_ops", "int8_ops"]
            ),
        ),
        migrations.RunSQL(LISTS, "DROP INDEX audit_by_action, audit_by_actor"),
    ]
