/* test_audit.c - the log of actions: what is claimed once, what is free again, several processes, damaged lines. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "action/audit.h"
#include "unit.h"

static char directory[64], path[128];
static const assay_audit_key KEY = {{"finding", "slack env:X", "runs/a", "rule"}, 4}, OTHER = {{"cancel 7"}, 1};

static void fresh(void)
{
    snprintf(directory, sizeof directory, "/tmp/assay-audit-XXXXXX");
    CU_ASSERT_FATAL(mkdtemp(directory) != NULL);
    snprintf(path, sizeof path, "%s/sub/actions.log", directory);
}

static void clean(void)
{
    unlink(path);
    *strrchr(path, '/') = '\0';
    rmdir(path);
    rmdir(directory);
}

static assay_audit *open_log(void)
{
    assay_audit *audit = assay_audit_new(path);
    CU_ASSERT_FATAL(audit != NULL);
    return audit;
}

static int claim(assay_audit *audit, const assay_audit_key *key)
{
    assay_audit_claim_result result = ASSAY_AUDIT_OURS;
    assay_error err = {""};
    CU_ASSERT(assay_audit_claim(audit, key, "\"event\": \"x\", ", &result, &err) == ASSAY_OK);
    return (int)result;
}

static void put(assay_audit *audit, const assay_audit_key *key, assay_audit_result result)
{
    CU_ASSERT(assay_audit_note(audit, key, &(assay_audit_line){"", result, 1, "a \"text\""}, NULL) == ASSAY_OK);
}

static void test_once(void)
{
    fresh();
    assay_audit *audit = open_log();
    CU_ASSERT(claim(audit, &KEY) == ASSAY_AUDIT_MINE && claim(audit, &KEY) == ASSAY_AUDIT_OURS);
    CU_ASSERT(claim(audit, &OTHER) == ASSAY_AUDIT_MINE);
    put(audit, &KEY, ASSAY_AUDIT_DONE);
    put(audit, &OTHER, ASSAY_AUDIT_ATTEMPT);
    put(audit, &OTHER, ASSAY_AUDIT_FAILED);
    CU_ASSERT(claim(audit, &OTHER) == ASSAY_AUDIT_OURS); /* this process had its try */
    assay_audit_free(audit);
    audit = open_log();
    CU_ASSERT(claim(audit, &KEY) == ASSAY_AUDIT_BEFORE);
    CU_ASSERT(claim(audit, &OTHER) == ASSAY_AUDIT_MINE); /* it failed: the next one may */
    assay_audit_free(audit);
    audit = open_log(); /* and was killed: nobody knows */
    CU_ASSERT(claim(audit, &OTHER) == ASSAY_AUDIT_BEFORE && assay_audit_strangers(audit) == 0);
    assay_audit_free(audit);
    clean();
}

static void test_two_processes(void)
{
    fresh();
    assay_audit *one = open_log(), *two = open_log();
    CU_ASSERT(claim(one, &KEY) == ASSAY_AUDIT_MINE && claim(two, &KEY) == ASSAY_AUDIT_BEFORE);
    CU_ASSERT(claim(two, &OTHER) == ASSAY_AUDIT_MINE && claim(one, &OTHER) == ASSAY_AUDIT_BEFORE);
    put(one, &KEY, ASSAY_AUDIT_FAILED);
    assay_audit_free(one);
    assay_audit_free(two);
    clean();
}

static void append(const char *text)
{
    int fd = open(path, O_WRONLY | O_APPEND);
    CU_ASSERT(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

static void test_damage(void)
{
    fresh();
    assay_audit *audit = open_log();
    CU_ASSERT(claim(audit, &KEY) == ASSAY_AUDIT_MINE);
    assay_audit_free(audit);
    append("no line of ours\n{\"result\": \"done\", \"key\": [\"cancel 7\"");
    audit = open_log();
    CU_ASSERT(claim(audit, &KEY) == ASSAY_AUDIT_BEFORE && claim(audit, &OTHER) == ASSAY_AUDIT_MINE);
    assay_audit_free(audit);
    audit = open_log();
    CU_ASSERT(claim(audit, &OTHER) == ASSAY_AUDIT_BEFORE && assay_audit_strangers(audit) == 2);
    assay_audit_free(audit);
    char *line = malloc((3 << 20) + 1); /* longer than any of ours, without and with an end */
    CU_ASSERT_FATAL(line != NULL);
    memset(line, 'x', 3 << 20);
    line[3 << 20] = '\0';
    append(line);
    append("\n{\"result\": \"done\", \"key\": [\"last\"]}\n");
    free(line);
    audit = open_log();
    CU_ASSERT(claim(audit, &(assay_audit_key){{"last"}, 1}) == ASSAY_AUDIT_BEFORE);
    CU_ASSERT(claim(audit, &KEY) == ASSAY_AUDIT_BEFORE && assay_audit_strangers(audit) > 2);
    assay_audit_free(audit);
    clean();
}

static void test_refusals(void)
{
    fresh();
    assay_audit_claim_result result;
    assay_error err = {""};
    char *end = strrchr(path, '/');
    *end = '\0';
    CU_ASSERT_FATAL(mkdir(path, 0777) == 0);
    *end = '/';
    CU_ASSERT_FATAL(mkdir(path, 0777) == 0);
    assay_audit *audit = open_log();
    CU_ASSERT(assay_audit_claim(audit, &KEY, "", &result, &err) == ASSAY_EIO && strstr(err.text, path));
    assay_audit_free(audit);
    rmdir(path);
    audit = assay_audit_new(NULL); /* without a file */
    CU_ASSERT(claim(audit, &KEY) == ASSAY_AUDIT_MINE && claim(audit, &KEY) == ASSAY_AUDIT_OURS);
    assay_audit_free(audit);
    clean();
}

int main(void)
{
    CU_TestInfo tests[] = {{"once", test_once},
                           {"two processes", test_two_processes},
                           {"damaged lines", test_damage},
                           {"no log, no claim", test_refusals},
                           CU_TEST_INFO_NULL};
    return unit_main("audit", tests);
}
