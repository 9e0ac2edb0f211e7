// Prints the ids of a text, by cgo: go run examples/go/main.go model.stm "hello world"
//
// It needs libstreamtok where pkg-config finds it. No test runs it.
package main

/*
#cgo pkg-config: streamtok
#include <stdlib.h>
#include <streamtok.h>
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"unsafe"
)

func check(status C.stk_status) error {
	if status == C.STK_OK {
		return nil
	}
	return errors.New(C.GoString(C.stk_message(status)))
}

func encode(coder *C.stk_coder, text string) ([]uint32, error) {
	data := C.CString(text)
	defer C.free(unsafe.Pointer(data))
	ids := make([]uint32, len(text)+8)
	for {
		var count C.size_t
		room := (*C.uint32_t)(unsafe.Pointer(&ids[0]))
		status := C.stk_encode(coder, data, C.size_t(len(text)), room, C.size_t(len(ids)), &count, nil)
		if status == C.STK_MORE {
			ids = make([]uint32, int(count))
			continue
		}
		return ids[:int(count)], check(status)
	}
}

func run(path, text string) error {
	var model *C.stk_model
	var coder *C.stk_coder
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	if err := check(C.stk_model_open(name, &model)); err != nil {
		return err
	}
	defer C.stk_model_free(model)
	if err := check(C.stk_coder_new(model, nil, &coder)); err != nil {
		return err
	}
	defer C.stk_coder_free(coder)
	ids, err := encode(coder, text)
	if err == nil {
		fmt.Println(ids)
	}
	return err
}

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
