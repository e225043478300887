"""Django's own admin site over one model of ours, by a server of its own; what it has stored is read from its SQLite.

Django is no dependency: `.ci/apart django` puts it in a folder of its own.
"""

import os
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

PYTHON = Path(__file__).parents[2] / ".tools" / "django" / "bin" / "python"

USER, PASSWORD = "ann", "Correct horse, battery"

_PROJECT = """
import sys
from pathlib import Path
from wsgiref.simple_server import WSGIServer

from django.conf import settings

HERE = Path.cwd()
settings.configure(
    SECRET_KEY="none", DEBUG=True, ALLOWED_HOSTS=["*"], ROOT_URLCONF="project", STATIC_URL="/static/",
    MEDIA_ROOT=HERE / "kept", USE_TZ=True, DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": HERE / "site.sqlite"}},
    INSTALLED_APPS=[f"django.contrib.{one}" for one in
        ("admin", "auth", "contenttypes", "sessions", "messages", "staticfiles")],
    MIDDLEWARE=["django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware", "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware"],
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True,
        "OPTIONS": {"context_processors": ["django.template.context_processors.request",
            "django.contrib.auth.context_processors.auth", "django.contrib.messages.context_processors.messages"]}}],
)
import django
django.setup()

from django.contrib import admin
from django.db import connection, models
from django.urls import path

class Invoice(models.Model):
    title = models.CharField(max_length=80)
    state = models.CharField(max_length=9, choices=[("open", "Open"), ("paid", "Paid")], default="open")
    due = models.DateField()
    scan = models.FileField(blank=True)

    class Meta:
        app_label = "admin"  # of an app that is installed: one of our own would need a package
        db_table = "invoice"

    def __str__(self):
        return self.title

admin.site.register(Invoice)
urlpatterns = [path("admin/", admin.site.urls)]
sys.modules["project"] = sys.modules["__main__"]

from django.contrib.auth import get_user_model
from django.contrib.contenttypes.models import ContentType
from django.contrib.staticfiles.handlers import StaticFilesHandler
from django.core.management import call_command
from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
from django.core.wsgi import get_wsgi_application

call_command("migrate", verbosity=0)
with connection.schema_editor() as editor:
    editor.create_model(Invoice)
get_user_model().objects.create_superuser(*sys.argv[1:2], password=sys.argv[2])
server = ThreadedWSGIServer(("127.0.0.1", 0), WSGIRequestHandler)
server.set_app(StaticFilesHandler(get_wsgi_application()))
print(server.server_address[1], flush=True)
server.serve_forever()
"""


class DjangoAdmin:
    """One that runs at `port`."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port = folder, port

    def url(self, path: str = "") -> str:
        """Where it is, by a name that leads to this machine."""
        return f"http://site.example:{self.port}{path}"

    def stored(self) -> list[tuple[str, str, str, str]]:
        """Title, state, day and file of what its database holds now."""
        with closing(sqlite3.connect(self.folder / "site.sqlite")) as read:
            return read.execute("SELECT title, state, due, scan FROM invoice ORDER BY id").fetchall()


@contextmanager
def django_admin(folder: Path) -> Iterator[DjangoAdmin]:
    """Start one in an empty folder, with a user who may do everything."""
    (folder / "project.py").write_text(_PROJECT)
    with (folder / "log").open("wb") as told:
        process = subprocess.Popen(
            [str(PYTHON), "project.py", USER, PASSWORD], cwd=folder, env=os.environ | {"PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE, stderr=told,
        )  # fmt: skip
        try:
            assert process.stdout is not None
            port = process.stdout.readline().strip()
            assert port.isdigit(), f"Django did not start: {(folder / 'log').read_text()[-2000:]}"
            yield DjangoAdmin(folder, int(port))
        finally:
            process.kill()
            process.communicate()
