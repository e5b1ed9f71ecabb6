#!/usr/bin/env python3
"""A secret is planted in each place of a request that may hold one; whatever fails, no output of assay has it.

    planted_secrets.py --assay PROGRAM
"""
import argparse
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import TRIALS, Checks, run  # noqa: E402

USER, WORD, HOST, PATH, QUERY, HEADER = "u5erSECRET", "w0rdSECRET", "h0stSECRET.invalid", "p4thSECRET", "qu3rySECRET", "h34derSECRET"
SECRETS = (USER, WORD, HOST, HOST.split(".")[0], PATH, QUERY, HEADER)
URLS = {  # how a request fails: its URL
    "cannot be resolved": "https://%s/%s?token=%s" % (HOST, PATH, QUERY),
    "is refused": "http://127.0.0.1:1/%s?token=%s" % (PATH, QUERY),
    "speaks no TLS": "https://127.0.0.1:1/%s?token=%s" % (PATH, QUERY),
    "has a user": "http://%s:%s@127.0.0.1:1/%s" % (USER, WORD, PATH),
    "is no URL": "gopher://%s/%s" % (HOST, PATH),
    "has no port": "http://%s:port/%s?token=%s" % (HOST, PATH, QUERY),
    "has a blank": "http://%s/%s %s" % (HOST, PATH, QUERY),
}


def job_of(url, folder, way):
    """Where the URL is: in a variable, in a file, or in the job itself."""
    env = {"ASSAY_TEST_HEADER": "Bearer " + HEADER}
    if way == "env":
        env["ASSAY_TEST_URL"] = url
        url = {"env": "ASSAY_TEST_URL"}
    elif way == "file":
        (folder / "url").write_text(url + "\n")
        (folder / "url").chmod(0o600)
        url = {"file": str(folder / "url")}
    target = {"url": url, "retries": 0, "timeout": 5, "headers": {"Authorization": {"env": "ASSAY_TEST_HEADER"}}}
    return {"rules": [{"rule": "ExplodingTensor"}], "actions": [{"on": "end", "notify": target}]}, env


def outputs(folder):
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name not in ("job.json", "url"):
            yield path.name, path.read_bytes()


def check(checks, assay, folder, name, url, way):
    job, env = job_of(url, folder, way)
    (folder / "job.json").write_text(json.dumps(job))
    common = ["--reports", "json,text,html,junit,markdown,csv,hdf5"]
    for more in ([], ["--show-actions"], ["--no-actions"]):
        done = run([assay, "run", folder / "job.json", "--trial", TRIALS / "linreg_nan", "--out", folder / "out", *common, *more], env=env, timeout=60)
        if done.code == 2 and "hdf5" in done.err:
            common = ["--reports", "json,text,html,junit,markdown,csv"]
            done = run([assay, "run", folder / "job.json", "--trial", TRIALS / "linreg_nan", "--out", folder / "out", *common, *more], env=env, timeout=60)
        where = "a host that %s, by %s, %s" % (name, way, more)
        checks.expect(not done.hung, "%s: %s" % (where, done))
        found = [("stdout", done.out.encode()), ("stderr", done.err.encode()), *outputs(folder)]
        for secret in SECRETS:
            if way == "job" and secret in (HOST, HOST.split(".")[0], PATH):  # they stand in a file for everybody
                continue
            holders = [n for n, data in found if secret.lower().encode() in data.lower()]
            checks.expect(not holders, "%s: %s is in %s: %s" % (where, secret, holders, done.err))
    checked = run([assay, "check", folder / "job.json"], env=env)
    for secret in SECRETS:
        if way != "job":
            checks.expect(secret not in checked.out + checked.err, "check shows %s" % secret)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    args = parser.parse_args()
    checks = Checks()
    for name, url in URLS.items():
        for way in ("env", "file", "job"):
            with tempfile.TemporaryDirectory() as folder:
                check(checks, args.assay, Path(folder), name, url, way)
    checks.done()


if __name__ == "__main__":
    main()
