/* The pool of open event files: one that is open is not opened again, files take turns as the main one, and one that
 * cannot be opened is not taken for open. */
#include "workspace.h"
#include "map_trial.h"
#include "unit.h"

#include "engine/map/file_pool.h"

typedef struct fixture {
    map_trial trial;
    workspace files;
    assay_file_pool pool;
    assay_error err;
} fixture;

/* Parts 0 to 2 have event files; that of part 3 is missing. */
static void begin(fixture *f)
{
    memset(f, 0, sizeof *f);
    map_trial_make(&f->trial);
    workspace_make(&f->files);
    for (int p = 0; p < 3; p++)
        workspace_text(&f->files, f->trial.parts[p].files->file[0].name, "no record");
    CU_ASSERT_EQUAL_FATAL(assay_store_open(f->files.root, &f->trial.source.store, &f->err), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(assay_file_pool_init(&f->pool, &f->trial.map, NULL, 1 << 20, 1 << 20), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(assay_file_pool_enter(&f->pool), ASSAY_OK);
}

static void end(fixture *f)
{
    assay_file_pool_release(&f->pool);
    assay_store_close(f->trial.source.store);
    workspace_remove(&f->files);
    map_trial_release(&f->trial);
}

static int open_part(fixture *f, assay_open_file *file, int part)
{
    return assay_file_pool_open(&f->pool, file, &f->trial.source, &f->trial.parts[part], 0, &f->err);
}

static void open_files_stay_open(void)
{
    fixture f;
    begin(&f);
    assay_open_file *main = f.pool.main, *other = &f.pool.files[1];
    CU_ASSERT_PTR_NULL(assay_file_pool_find(&f.pool, &f.trial.parts[0], 0));
    CU_ASSERT_EQUAL(open_part(&f, main, 0), ASSAY_OK);
    CU_ASSERT_EQUAL(open_part(&f, main, 0), ASSAY_OK);
    CU_ASSERT_EQUAL(f.pool.files_opened, 1);
    assay_file_pool_turn_to(&f.pool, other);
    CU_ASSERT_PTR_EQUAL(f.pool.main, other);
    CU_ASSERT_EQUAL(open_part(&f, other, 1), ASSAY_OK);
    CU_ASSERT_PTR_EQUAL(assay_file_pool_find(&f.pool, &f.trial.parts[0], 0), main);
    CU_ASSERT_PTR_EQUAL(assay_file_pool_find(&f.pool, &f.trial.parts[1], 0), other);
    CU_ASSERT_EQUAL(open_part(&f, other, 2), ASSAY_OK);
    CU_ASSERT_PTR_NULL(assay_file_pool_find(&f.pool, &f.trial.parts[1], 0));
    CU_ASSERT_EQUAL(f.pool.files_opened, 3);
    end(&f);
}

/* After a failure the file that was open before is not open any more, and the next one opens. */
static void files_that_cannot_be_opened(void)
{
    fixture f;
    begin(&f);
    CU_ASSERT_EQUAL(open_part(&f, f.pool.main, 0), ASSAY_OK);
    CU_ASSERT_EQUAL(open_part(&f, f.pool.main, 3), ASSAY_ENOTFOUND);
    CU_ASSERT_PTR_NOT_NULL(strstr(f.err.text, "events/3"));
    CU_ASSERT_PTR_NULL(assay_file_pool_find(&f.pool, &f.trial.parts[0], 0));
    CU_ASSERT_PTR_NULL(assay_file_pool_find(&f.pool, &f.trial.parts[3], 0));
    CU_ASSERT_EQUAL(open_part(&f, f.pool.main, 0), ASSAY_OK);
    CU_ASSERT_EQUAL(f.pool.files_opened, 2);
    CU_ASSERT_EQUAL(open_part(&f, &f.pool.references[0], 3), ASSAY_ENOTFOUND);
    CU_ASSERT_EQUAL(open_part(&f, &f.pool.window, 0), ASSAY_OK);
    end(&f);
}

int main(void)
{
    CU_TestInfo tests[] = {{"open files stay open", open_files_stay_open},
                           {"files that cannot be opened", files_that_cannot_be_opened},
                           CU_TEST_INFO_NULL};
    return unit_main("open files", tests);
}
