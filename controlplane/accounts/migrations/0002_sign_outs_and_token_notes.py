import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0001_initial"),
        ("knox", "0009_extend_authtoken_field"),
    ]

    operations = [
        migrations.AddField(
            model_name="user",
            name="sign_outs",
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.CreateModel(
            name="TokenNote",
            fields=[
                (
                    "token",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="note",
                        serialize=False,
                        to="knox.authtoken",
                    ),
                ),
                ("name", models.CharField(blank=True, max_length=64)),
                ("last_used_at", models.DateTimeField(null=True)),
            ],
        ),
    ]
