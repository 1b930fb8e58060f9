# SPDX-License-Identifier: Apache-2.0
"""Unpacks the header files of the wheels in a folder into its include/."""
import pathlib
import sys
import zipfile

work = pathlib.Path(sys.argv[1])
include = work / "include"
for wheel in sorted(work.glob("*.whl")):
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            path = pathlib.PurePosixPath(entry.filename)
            # "include/cudnn_frontend/..." and "nvidia/cu13/include/nvml.h" both keep what follows include/.
            if entry.is_dir() or "include" not in path.parts or path.suffix not in (".h", ".hpp"):
                continue
            below = path.parts[path.parts.index("include") + 1:]
            file = include.joinpath(*below)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(archive.read(entry))
