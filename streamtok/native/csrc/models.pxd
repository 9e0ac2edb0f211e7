from .vocab cimport st_find_model, st_model


cdef extern from "models/models.h" nogil:
    const st_model *st_model_at(size_t i)
    const st_model *st_model_named(const char *name)
    int st_model_add(const st_model *model)
