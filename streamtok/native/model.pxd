from .csrc.vocab cimport st_model


cdef const st_model *model_of(str name) except NULL
