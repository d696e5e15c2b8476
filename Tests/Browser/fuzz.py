"""The console's API under schemathesis: requests made from its OpenAPI document, and answers compared with it.

    fuzz.py PROGRAM SCHEMATHESIS [SECONDS]

No answer may be a 5xx or one that the document does not announce.
"""

import os
import subprocess
import sys
import tempfile

from site_of_tests import TOKEN, Site

# Not `ignored_auth`: after ten wrong tokens the console refuses the address for a minute, and nothing else would be tested.
CHECKS = [
    "not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance",
    "response_schema_conformance", "unsupported_method",
]


def main():
    program, schemathesis, seconds = os.path.abspath(sys.argv[1]), sys.argv[2], (sys.argv + ["60"])[3]
    with tempfile.TemporaryDirectory() as folder:
        site = Site(program, folder)
        try:
            site.begin()
            command = [schemathesis, "run", site.address + "/api/v1/openapi.json", "-H", "Authorization: Bearer " + TOKEN]
            options = ["--checks", ",".join(CHECKS), "--max-time", seconds, "--continue-on-failure", "--no-color", "--warnings", "off"]
            if os.environ.get("BELLHOP_SEED"):
                options += ["--seed", os.environ["BELLHOP_SEED"]]
            result = subprocess.run(command + options, cwd=folder)
            alive = all(process.poll() is None for process in site.processes)
            if result.returncode or not alive:
                with open(folder + "/log") as log:
                    print(log.read()[-4000:])
            if not alive:
                sys.exit("The agent has ended.")
            sys.exit(result.returncode)
        finally:
            site.stop()


main()
