"""Objects in S3 for scripts that list, read and write them by the reference's names, and for profiler data there. It needs boto3; trials in S3 are
read by libassay, without it."""
import io
import os
import shutil

from .exceptions import AssayError
from .surroundings import is_s3


def client():
    """boto3's client of S3, where AWS_ENDPOINT_URL says, if it says something."""
    try:
        import boto3
    except ImportError:
        raise ImportError("S3 is read by boto3 here: install it, or copy the files first; `assay run` and `assay ls` need neither") from None
    return boto3.client("s3", endpoint_url=os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL"))


class ListRequest:
    """What to list: the keys of a bucket that begin with Prefix and stand behind StartAfter."""

    def __init__(self, Bucket, Prefix="", Delimiter="", StartAfter=""):  # noqa: N803 - the reference's names
        self.bucket, self.prefix, self.delimiter, self.start_after = Bucket, Prefix, Delimiter, StartAfter


class ReadObjectRequest:
    """What to read: an object of S3 or a file, from `start` on, `length` bytes of it."""

    def __init__(self, path, start=None, length=None):
        self.is_s3, self.bucket, self.key = is_s3(path)
        self.key = self.key if self.is_s3 else path
        self.download_entire_file, self.start, self.length = start is None, start or 0, length


class DeleteRequest:
    """What to delete: the objects of a bucket whose keys begin with Prefix."""

    def __init__(self, Bucket, Prefix=""):  # noqa: N803
        self.bucket, self.prefix = Bucket, Prefix


class S3Handler:
    @staticmethod
    def list_prefix(request):
        """Keys in byte order; with a delimiter, the folders below the prefix."""
        given = {"Bucket": request.bucket, "Prefix": request.prefix}
        given.update({"Delimiter": request.delimiter} if request.delimiter else {})
        given.update({"StartAfter": request.start_after} if request.start_after else {})
        found = []
        for page in client().get_paginator("list_objects_v2").paginate(**given):
            found += [entry["Prefix"] for entry in page.get("CommonPrefixes", ())] if request.delimiter else []
            found += [entry["Key"] for entry in page.get("Contents", ())] if not request.delimiter else []
        return found

    @staticmethod
    def list_prefixes(list_requests):
        return [S3Handler.list_prefix(request) for request in list_requests]

    @staticmethod
    def get_object(object_request):
        """The bytes; None where there are none, as the reference has it."""
        if not object_request.is_s3:
            with open(object_request.key, "rb") as file:
                file.seek(object_request.start)
                return file.read(-1 if object_request.length is None else object_request.length)
        given = {"Bucket": object_request.bucket, "Key": object_request.key}
        if not object_request.download_entire_file:
            last = "" if object_request.length is None else object_request.start + object_request.length - 1
            given["Range"] = "bytes=%d-%s" % (object_request.start, last)
        made = client()
        try:
            return made.get_object(**given)["Body"].read()
        except made.exceptions.NoSuchKey:
            return None

    @staticmethod
    def get_objects(object_requests, use_multiprocessing=True, n_process=None):
        del use_multiprocessing, n_process
        return [S3Handler.get_object(request) for request in object_requests]

    @staticmethod
    def delete_prefix(path=None, delete_request=None):
        request = delete_request or DeleteRequest(*is_s3(path)[1:])
        made = client()
        for key in S3Handler.list_prefix(ListRequest(request.bucket, request.prefix)):
            made.delete_object(Bucket=request.bucket, Key=key)

    @staticmethod
    def delete_prefixes(delete_requests):
        for request in delete_requests:
            S3Handler.delete_prefix(delete_request=request)


def list_s3_objects(bucket, prefix, start_after_key=None, delimiter=""):
    """(keys, the last of them)"""
    keys = S3Handler.list_prefix(ListRequest(bucket, prefix, delimiter, start_after_key or ""))
    return keys, keys[-1] if keys else start_after_key


def delete_s3_prefixes(bucket, keys):
    for key in [keys] if isinstance(keys, str) else keys:
        S3Handler.delete_prefix(delete_request=DeleteRequest(bucket, key))


class _Written:
    """What is written piece by piece, and stands there when it is closed."""

    def __init__(self, binary):
        self._binary, self._data, self._open = binary, io.BytesIO(), True

    def write(self, data):
        """(where the piece begins, how long it is)"""
        begin = self._data.tell()
        return begin, self._data.write(data.encode() if isinstance(data, str) else data)

    def flush(self):
        """It stands there when it is closed."""

    def close(self):
        if self._open:
            self._open = False
            self._put(self._data.getvalue())

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


class TSAccessS3(_Written):
    """An object of S3."""

    def __init__(self, bucket_name, key_name, binary=True):
        super().__init__(binary)
        self.bucket_name, self.key_name = bucket_name, key_name

    def _put(self, data):
        client().put_object(Bucket=self.bucket_name, Key=self.key_name, Body=data)


class TSAccessFile(_Written):
    """A file, which has its name when it is whole; with mode "a" behind what it holds."""

    def __init__(self, path, mode):
        super().__init__("b" in mode)
        self.path, self.mode = path, mode
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)

    def _put(self, data):
        temporary = self.path + ".tmp"
        if "a" in self.mode and os.path.exists(self.path):
            shutil.copyfile(self.path, temporary)
        with open(temporary, "ab" if "a" in self.mode else "wb") as file:
            file.write(data)
        os.replace(temporary, self.path)


def write_file(place, data):
    """Writes a file of bytes, or of a text, here or in S3."""
    there, bucket, key = is_s3(place)
    with TSAccessS3(bucket, key) if there else TSAccessFile(place, "wb") as file:
        file.write(data)


class Folder:
    """What lies below a place, here or in S3: names relative to it."""

    def __init__(self, place):
        self.place = os.path.expanduser(os.fspath(place).strip())
        self.remote, self._bucket, self._prefix = is_s3(self.place)

    def names(self, below=""):
        """All files below a folder, in byte order; none where there is no such folder."""
        if self.remote:
            root = self._prefix.rstrip("/") + "/" if self._prefix else ""
            found = S3Handler.list_prefix(ListRequest(self._bucket, root + (below + "/" if below else "")))
            return [key[len(root):] for key in found]
        found = []
        for folder, _, names in os.walk(os.path.join(self.place, below)):
            found += [os.path.relpath(os.path.join(folder, name), self.place) for name in names]
        return sorted(found)

    def path(self, name):
        return "%s/%s" % (self.place.rstrip("/"), name)

    def read(self, name):
        data = S3Handler.get_object(ReadObjectRequest(self.path(name)))
        if data is None:
            raise AssayError("%s: not there any more" % self.path(name), -3)
        return data
