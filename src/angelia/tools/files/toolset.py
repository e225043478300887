"""The toolset of files: what was read is remembered, so that nothing unseen is overwritten."""

from angelia.tools.files.edit import Edit
from angelia.tools.files.find import Find
from angelia.tools.files.read import Read
from angelia.tools.files.sandbox_files import SeenFiles
from angelia.tools.files.write import Write
from angelia.tools.standalone import Standalone


class FileTools(Standalone):
    """See `tools.port.Toolset`."""

    def __init__(self) -> None:
        seen = SeenFiles()
        super().__init__("files", Read(seen), Write(seen), Edit(seen), Find())
