/* Series of checkpoints: what names say, and pickles that are read or refused. tests/mpi/series.py has the files. */
#include "format/checkpoint/files.h"
#include "format/checkpoint/keys.h"
#include "container/pickle.h"
#include "unit.h"

static void test_steps(void)
{
    static const struct {
        const char *name;
        int64_t step; /* -1: none */
    } cases[] = {{"step-0500", 500},
                 {"global_step70.pt", 70},
                 {"iter_0000010", 10},
                 {"epoch=3-step=500.ckpt", 500},
                 {"checkpoint-12", 12},
                 {"checkpoint_3_700.pt", 700},
                 {"epoch_4", 4},
                 {"00042", 42},
                 {"step-9223372036854775807", INT64_MAX},
                 {"step-9223372036854775808", -1},
                 {"model-00001-of-00003.safetensors", -1},
                 {"latest", -1},
                 {"last.ckpt", -1},
                 {"config.json", -1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t step = -1;
        const bool found = assay_ckpt_step(NULL, cases[i].name, &step);
        CU_ASSERT_EQUAL(found, cases[i].step >= 0);
        CU_ASSERT(!found || step == cases[i].step);
    }
}

static void test_files(void)
{
    CU_ASSERT_EQUAL(assay_ckpt_kind_of("model.safetensors"), ASSAY_CKPT_SAFETENSORS);
    CU_ASSERT_EQUAL(assay_ckpt_kind_of("pytorch_model.bin"), ASSAY_CKPT_TORCH);
    CU_ASSERT_EQUAL(assay_ckpt_kind_of("config.json"), ASSAY_CKPT_KINDS);
    CU_ASSERT_EQUAL(assay_ckpt_role_of("optimizer.pt"), ASSAY_CKPT_OPTIMIZER);
    CU_ASSERT_EQUAL(assay_ckpt_role_of("optimized.pt"), ASSAY_CKPT_MODEL);
    CU_ASSERT_EQUAL(assay_ckpt_role_of("rng_state_0.pth"), ASSAY_CKPT_STATE);
    CU_ASSERT(assay_ckpt_is_shard("model-00001-of-00003.safetensors") && !assay_ckpt_is_shard("one-of-many.pt"));
    CU_ASSERT(assay_ckpt_is_rank_directory("mp_rank_01_000") && assay_ckpt_is_rank_directory("rank-3"));
    CU_ASSERT(!assay_ckpt_is_rank_directory("ranking") && !assay_ckpt_is_rank_directory("mp_rank_"));
    CU_ASSERT(assay_ckpt_is_rank_file("model_rank_0.pt") && assay_ckpt_is_rank_file("consolidated.00.pth"));
    CU_ASSERT(!assay_ckpt_is_rank_file("ranker.pt") && !assay_ckpt_is_rank_file("rng_state_rank0.pt"));
    CU_ASSERT(assay_ckpt_is_unfinished("tmp-checkpoint-3") && assay_ckpt_is_unfinished("step-3.part"));
    CU_ASSERT(!assay_ckpt_is_unfinished("step-3") && assay_ckpt_is_unfinished("model.pt.filepart"));
    CU_ASSERT(assay_ckpt_is_copied(".model.pt.Ab12Cd") && !assay_ckpt_is_copied("model.pt.Ab12Cd"));
    CU_ASSERT(!assay_ckpt_is_copied(".model.pt") && !assay_ckpt_is_copied(".metadata"));
    char name[] = "model.pt", *names[] = {name};
    const assay_names none = {0}, model = {.name = names, .count = 1};
    CU_ASSERT(assay_ckpt_is_misnamed(&none, "model.pt.6eF9c2a3") &&
              !assay_ckpt_is_misnamed(&model, "model.pt.6eF9c2a3"));
    CU_ASSERT(!assay_ckpt_is_misnamed(&none, "model_1.pth.tar") && !assay_ckpt_is_misnamed(&none, "model.ckpt.index") &&
              !assay_ckpt_is_misnamed(&none, "config.json"));
}

static void test_companions(void)
{
    static const struct {
        const char *name;
        int64_t step; /* -1: it goes beside no model */
    } cases[] = {{"optimizer_500.pt", 500}, {"scheduler_step_70.pt", 70}, {"optimizer_step-3.safetensors", 3},
                 {"optimizer.pt", -1},      {"model_500.pt", -1},         {"rng_state_100.pth", -1},
                 {"optimizer_500.txt", -1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t step = -1;
        const bool found = assay_ckpt_goes_beside(NULL, cases[i].name, &step);
        CU_ASSERT_EQUAL(found, cases[i].step >= 0);
        CU_ASSERT(!found || step == cases[i].step);
    }
}

static void test_flat_names(void)
{
    static const char *const cases[][2] = {{"optimizer.state.fc.weight.exp_avg", "optimizer/fc.weight/exp_avg"},
                                           {"optimizer.state.exp_avg.fc.weight", "optimizer/fc.weight/exp_avg"},
                                           {"chained_1.optimizer.state.fp32_param.w", "optimizer/1.w/fp32"},
                                           {"optim.state.3.step", "optimizer/#3/step"},
                                           {"model.embed_tokens.weight", "model.embed_tokens.weight"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assay_buf name;
        assay_buf_init(&name, SIZE_MAX);
        assay_keys_put_flat(cases[i][0], strlen(cases[i][0]), &name);
        CU_ASSERT(name.size == strlen(cases[i][1]) && memcmp(name.data, cases[i][1], name.size) == 0);
        assay_buf_release(&name);
    }
}

static void test_pickle(void)
{
    /* {"a": os.system("ls"), 7: -1} */
    static const char sound[] = "\x80\x02}q\x00(X\x01\x00\x00\x00"
                                "acos\nsystem\nX\x02\x00\x00\x00ls\x85RK\x07J\xff\xff\xff\xffu.";
    assay_pickle p;
    assay_error err = {{0}};
    CU_ASSERT_EQUAL_FATAL(assay_pickle_read(sound, sizeof sound - 1, &p, &err), ASSAY_OK);
    const uint32_t call = assay_pickle_get(&p, p.root, "a");
    CU_ASSERT_FATAL(call != ASSAY_PICKLE_NOTHING && p.node[call].kind == ASSAY_PICKLE_CALL);
    CU_ASSERT(assay_pickle_is_global(&p, p.node[call].a, "os", "system"));
    CU_ASSERT(assay_pickle_is_text(&p, assay_pickle_at(&p, p.node[call].b, 0), "ls"));
    CU_ASSERT_EQUAL(assay_pickle_get(&p, p.root, "b"), ASSAY_PICKLE_NOTHING);
    assay_pickle_release(&p);
    for (size_t size = 0; size + 1 < sizeof sound; size++) { /* every cut is refused, with a reason */
        err.text[0] = '\0';
        CU_ASSERT_EQUAL(assay_pickle_read(sound, size, &p, &err), ASSAY_EFORMAT);
        CU_ASSERT_NOT_EQUAL(err.text[0], '\0');
    }
}

static void test_refused_pickles(void)
{
    static const struct {
        const char *bytes, *why;
    } cases[] = {{"\x80\x06N.", "protocol"},
                 {"N.", "protocol"},
                 {"\x80\x02.", "too few items"},
                 {"\x80\x02t.", "no mark"},
                 {"\x80\x02(N0.", "too few items"},
                 {"\x80\x02h\x01.", "unfilled memo slot"},
                 {"\x80\x02I1\n.", "INT"},
                 {"\x80\x02NNR.", "not a tuple"},
                 {"\x80\x02NNa.", "cannot have them"},
                 {"\x80\x02}(NNNu.", "without a value"},
                 {"\x80\x02NNb.", "cannot have one"},
                 {"\x80\x02\x82\x01.", "EXT1"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assay_pickle p;
        assay_error err = {{0}};
        const size_t size = strlen(cases[i].bytes);
        CU_ASSERT_EQUAL(assay_pickle_read(cases[i].bytes, size, &p, &err), ASSAY_EFORMAT);
        if (!strstr(err.text, cases[i].why))
            fprintf(stderr, "case %zu: %s\n", i, err.text);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[i].why));
    }
}

int main(void)
{
    CU_TestInfo tests[] = {{"the step in a name", test_steps},
                           {"what files are", test_files},
                           {"files beside the model", test_companions},
                           {"names that were joined", test_flat_names},
                           {"a pickle is read and not run", test_pickle},
                           {"pickles that are refused", test_refused_pickles},
                           CU_TEST_INFO_NULL};
    return unit_main("trial/checkpoint", tests);
}
