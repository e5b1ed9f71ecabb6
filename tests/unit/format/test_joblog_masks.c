/* Secrets in outputs are masked, each kind alone and behind a long text. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "format/joblog/joblog.h"

static void test_masks(void)
{
    static const struct {
        const char *line, *shown;
    } LINES[] = {
        {"HF_TOKEN=hf_abc", "HF_TOKEN=***"},
        {"export DB_PASSWORD='a b' x", "export DB_PASSWORD=*** x"},
        {"Authorization: Bearer abc.def", "Authorization: Bearer ***"},
        {"'api_key': 'secret', 'lr': 1", "'api_key': ***, 'lr': 1"},
        {"https://u:p@host/x", "https://***@host/x"},
        {"id AKIAABCDEFGHIJKLMNOP", "id ***"},
        {"--wandb-api-key abcdef run", "--wandb-api-key *** run"},
        {"?X-Amz-Signature=abc&x=1", "?X-Amz-Signature=***&x=1"},
        {"tokens: 4096, loss 2", "tokens: 4096, loss 2"},
        {"token: 17 of 20", "token: 17 of 20"},
        {"MY_PAT=abc", "MY_PAT=***"}, /* each kind alone, in letters of either size where they do not matter */
        {"User.Pwd: xyz", "User.Pwd: ***"},
        {"pass: xyz", "pass: ***"},
        {"AWS_CREDENTIALS=abc", "AWS_CREDENTIALS=***"},
        {"Client-Secret: abc", "Client-Secret: ***"},
        {"proxy-authorization: basic abc", "proxy-authorization: basic ***"},
        {"BEARER abcdefgh1", "BEARER ***"},
        {"--Access-Key abc x", "--Access-Key *** x"},
        {"GIT+SSH://u@h/x", "GIT+SSH://***@h/x"},
        {"a&SIG=abc", "a&SIG=***"},
        {"is hf_abcdefghijklmnop", "is ***"},
        {"is api_org_abcdefghijklmnop", "is ***"},
        {"is ghs_0123456789abcdef", "is ***"},
        {"is github_pat_0123456789abcdef", "is ***"},
        {"is glpat-0123456789abcdef", "is ***"},
        {"is rk-0123456789abcdef", "is ***"},
        {"is xoxb-12345678", "is ***"},
        {"is AIza0123456789abcdefghij", "is ***"},
        {"is nvapi-0123456789abcdef", "is ***"},
        {"is eyJabcdefgh.abc.def", "is ***"},
        {"-----BEGIN RSA PRIVATE KEY-----abc", "***"},
        {"INFO MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj -----BEGIN", "INFO *** -----BEGIN"},
        {"'key': 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj=='", "'key': '***'"},
        {"2026-11-27 03:12:07 MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj",
         "2026-11-27 03:12:07 ***"},
        {"at /Users/me/Work/models/Train1/data/images/deep/nested/folder/of/many/names",
         "at /Users/me/Work/models/Train1/data/images/deep/nested/folder/of/many/names"},
        {"from Users/me/Work/models/Train1/data/images/deep/nested/folder/of/many/names",
         "from Users/me/Work/models/Train1/data/images/deep/nested/folder/of/many/names"},
        {"sha256 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
         "sha256 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"},
        {"Set-Cookie: session=abc; x=1", "Set-Cookie: ***"},
        {"AccountName=x;AccountKey=abc==;Suffix=y", "AccountName=x;AccountKey=***;Suffix=y"},
        {"SSHPASS=abc x", "SSHPASS=*** x"},
        {"X-Amz-Signature=abc&x=1", "X-Amz-Signature=***&x=1"},
        {"curl -u user:abc https://h/x", "curl -u user:*** https://h/x"},
        {"docker run --user 1000:1000 x", "docker run --user 1000:1000 x"},
        {"python3 -u train.py", "python3 -u train.py"},
        {"\"key\": \"0123456789abcdef0123456789abcdef\"", "\"key\": \"***\""},
        {"using key 0123456789abcdef0123456789abcdef01234567", "using key ***"},
        {"missing key: model.layers.0.mlp", "missing key: model.layers.0.mlp"},
        {"forward_pass: 0.123 s", "forward_pass: 0.123 s"},
        {"is pypi-AgEIcHlwaS5vcmcCJDU", "is ***"},
        {"is dckr_pat_abcdEFGH1234", "is ***"},
        {"is hvs.CAESIAbcdefghijklmnopq", "is ***"},
        {"is ya29.a0AfB_abcdefghijklmnop", "is ***"},
        {"at https://hooks.slack.com/services/T0/B0/abc now", "at https://hooks.slack.com/services/*** now"},
        {"KeyError: 'labels'", "KeyError: 'labels'"}};
    char wide[2048];
    joblog_masks *masks = NULL;
    CU_ASSERT_EQUAL_FATAL(joblog_masks_new(&masks, NULL), ASSAY_OK);
    for (size_t i = 0; i < sizeof LINES / sizeof *LINES; i++) {
        assay_buf out;
        assay_buf_init(&out, 4096);
        joblog_mask(masks, LINES[i].line, strlen(LINES[i].line), &out);
        const bool same = out.size == strlen(LINES[i].shown) && memcmp(out.data, LINES[i].shown, out.size) == 0;
        CU_ASSERT_TRUE(same);
        if (!same)
            fprintf(stderr, "%s: %.*s\n", LINES[i].line, (int)out.size, (const char *)out.data);
        assay_buf_clear(&out); /* the same behind a long text */
        const size_t length = (size_t)snprintf(wide, sizeof wide, "%1500s %s", "x", LINES[i].line);
        joblog_mask(masks, wide, length, &out);
        CU_ASSERT(out.size == 1501 + strlen(LINES[i].shown) &&
                  memcmp(out.data + 1501, LINES[i].shown, out.size - 1501) == 0);
        assay_buf_release(&out);
    }
    joblog_masks_free(masks);
}

int main(void)
{
    CU_TestInfo tests[] = {{"masks", test_masks}, CU_TEST_INFO_NULL};
    return unit_main("joblog_masks", tests);
}
