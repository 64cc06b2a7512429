package yaml

// A Finder finds the fields of a mapping by key, in constant time if there are many.
type Finder struct {
	fields []Field
	index  map[string]int // nil if building an index is not worthwhile
}

// Finder returns a Finder for the fields of v. It builds an index only if there are many fields
// and many expected lookups, given by times.
func (v Value) Finder(times int) Finder {
	const few = 16
	f := Finder{fields: v.Fields()}
	if len(f.fields) > few && times > few {
		f.index = make(map[string]int, len(f.fields))
		for i := range f.fields {
			f.index[f.fields[i].Key] = i
		}
	}
	return f
}

// Index returns the index of the field key, -1 if there is none.
func (f *Finder) Index(key string) int {
	if f.index == nil {
		return MapOf(f.fields...).Index(key)
	}
	if i, ok := f.index[key]; ok {
		return i
	}
	return -1
}

// Get returns the field key, None if there is none.
func (f *Finder) Get(key string) Value {
	if i := f.Index(key); i >= 0 {
		return f.fields[i].Value
	}
	return Value{}
}
