// Package group numbers names in the order in which they come, and sorts things
// by their numbers.
package group

// Number is the number of key, the next one for a new key.
func Number(numbers map[string]uint32, key string) uint32 {
	n, ok := numbers[key]
	if !ok {
		n = uint32(len(numbers))
		numbers[key] = n
	}
	return n
}

// By sorts members by their numbers, which are below n, in one piece of
// memory. Members of numbers from n on are left out.
func By(members, numbers []uint32, n int) [][]uint32 {
	ends := make([]int, n+1)
	for _, k := range numbers {
		ends[min(int(k), n)]++
	}
	total := 0
	groups := make([][]uint32, n)
	flat := make([]uint32, len(members)-ends[n])
	for k := range groups {
		groups[k] = flat[total : total : total+ends[k]]
		total += ends[k]
	}
	for i, k := range numbers {
		if int(k) < n {
			groups[k] = append(groups[k], members[i])
		}
	}
	return groups
}
