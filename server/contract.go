package server

import "sync"

// contract is what the protos say of the methods: who may call them, and which requests are valid. Nobody changes it.
type contract struct {
	methods   map[string]*method
	validator *validator
}

// readContract returns the contract. All servers of a process share it, because compiling the rules takes most of a server's start.
var readContract = sync.OnceValues(func() (*contract, error) {
	methods, err := listMethods()
	if err != nil {
		return nil, err
	}
	validator, err := newValidator(methods)
	if err != nil {
		return nil, err
	}
	return &contract{methods, validator}, nil
})
