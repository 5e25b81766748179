// Source of libroll_arrow.so; the only one that includes Arrow's headers.
#include <arrow/api.h>
#include <arrow/io/compressed.h>
#include <arrow/io/file.h>
#include <arrow/util/base64.h>
#include <arrow/util/compression.h>
#include <arrow/util/formatting.h>
#include <arrow/util/utf8.h>
#include <parquet/arrow/reader.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/json_object.h"
#include "data/arrow_library.h"

namespace roll {

namespace {

/// Memory limit of a read (a page per column, or a batch of rows), since damaged files can request any size. Typical
/// pages have 1 MB; with large rows, writers may produce hundreds.
constexpr int64_t kMaxArrowBytes = int64_t{2} << 30;
constexpr int64_t kMaxBatchRows = 256, kBatchBytes = 16 << 20;
constexpr int64_t kColumnBuffer = 1 << 18;  // bytes read ahead of each column
constexpr int kMaxColumnDepth = 100;        // below kMaxJsonDepth

std::string first_line(const std::string& text) {
  return text.substr(0, std::min(text.find('\n'), size_t{200}));
}

/// `location` starts the message.
void require(const arrow::Status& status, const std::string& location) {
  if (status.ok()) return;
  if (status.IsOutOfMemory())
    throw user_error("{}: damaged, or a batch of rows needs more than {} MB; write the file with smaller pages",
                     location, kMaxArrowBytes >> 20);
  throw user_error("{}: cannot be read further ({}); fetch or write the file again", location,
                   first_line(status.message()));
}

template <class T>
T require(arrow::Result<T> result, const std::string& location) {
  require(result.status(), location);
  return std::move(result).ValueUnsafe();
}

std::shared_ptr<arrow::io::ReadableFile> open_file(const std::string& file, arrow::MemoryPool* pool) {
  return require(arrow::io::ReadableFile::Open(file, pool), file);
}

// --- values ---

Json value_at(const arrow::Array& array, int64_t i);

template <class A>
const A& as(const arrow::Array& array) {
  return static_cast<const A&>(array);
}

Json float_value(double x) {
  return std::isfinite(x) ? Json(x) : Json();
}

Json text_value(std::string_view text) {
  if (!arrow::util::ValidateUTF8(text)) throw UserError("a string is not UTF-8");
  return std::string(text);
}

/// Encodes bytes as an object, so that they are not mistaken for text.
Json binary_value(std::string_view bytes) {
  return {{"base64", arrow::util::base64_encode(bytes)}};
}

Json map_value(const arrow::MapArray& map, int64_t i) {
  Json pairs = Json::array();
  for (int64_t at = map.value_offset(i); at < map.value_offset(i) + map.value_length(i); ++at)
    pairs.push_back(Json::array({value_at(*map.keys(), at), value_at(*map.items(), at)}));
  return pairs;
}

Json struct_value(const arrow::StructArray& array, int64_t i) {
  Json object = Json::object();
  for (int f = 0; f < array.num_fields(); ++f)
    add_new(object, array.type()->field(f)->name(), value_at(*array.field(f), i));
  return object;
}

/// Formats times as RFC 3339 with the digits of their unit; instants end in Z.
template <class Type>
Json time_value(const arrow::Array& array, int64_t i) {
  arrow::internal::StringFormatter<Type> format(array.type().get());
  std::string text = format(as<arrow::NumericArray<Type>>(array).Value(i),
                            [](std::string_view formatted) { return std::string(formatted); });
  std::ranges::replace(text, ' ', 'T');
  return text;
}

/// Converts types that are neither numbers nor nested.
Json text_like_value(const arrow::Array& array, int64_t i) {
  using arrow::Type;
  switch (array.type_id()) {
    case Type::STRING:
      return text_value(as<arrow::StringArray>(array).GetView(i));
    case Type::LARGE_STRING:
      return text_value(as<arrow::LargeStringArray>(array).GetView(i));
    case Type::STRING_VIEW:
      return text_value(as<arrow::StringViewArray>(array).GetView(i));
    case Type::BINARY:
      return binary_value(as<arrow::BinaryArray>(array).GetView(i));
    case Type::LARGE_BINARY:
      return binary_value(as<arrow::LargeBinaryArray>(array).GetView(i));
    case Type::BINARY_VIEW:
      return binary_value(as<arrow::BinaryViewArray>(array).GetView(i));
    case Type::FIXED_SIZE_BINARY:
      return binary_value(as<arrow::FixedSizeBinaryArray>(array).GetView(i));
    case Type::DECIMAL32:
      return as<arrow::Decimal32Array>(array).FormatValue(i);
    case Type::DECIMAL64:
      return as<arrow::Decimal64Array>(array).FormatValue(i);
    case Type::DECIMAL128:
      return as<arrow::Decimal128Array>(array).FormatValue(i);
    case Type::DECIMAL256:
      return as<arrow::Decimal256Array>(array).FormatValue(i);
    case Type::DATE32:
      return time_value<arrow::Date32Type>(array, i);
    case Type::DATE64:
      return time_value<arrow::Date64Type>(array, i);
    case Type::TIME32:
      return time_value<arrow::Time32Type>(array, i);
    case Type::TIME64:
      return time_value<arrow::Time64Type>(array, i);
    case Type::TIMESTAMP:
      return time_value<arrow::TimestampType>(array, i);
    default:
      throw UserError("values of the type " + array.type()->ToString() + " are not supported");
  }
}

Json plain_value(const arrow::Array& array, int64_t i) {
  using arrow::Type;
  switch (array.type_id()) {
    case Type::BOOL:
      return as<arrow::BooleanArray>(array).Value(i);
    case Type::INT8:
      return as<arrow::Int8Array>(array).Value(i);
    case Type::INT16:
      return as<arrow::Int16Array>(array).Value(i);
    case Type::INT32:
      return as<arrow::Int32Array>(array).Value(i);
    case Type::INT64:
      return as<arrow::Int64Array>(array).Value(i);
    case Type::UINT8:
      return as<arrow::UInt8Array>(array).Value(i);
    case Type::UINT16:
      return as<arrow::UInt16Array>(array).Value(i);
    case Type::UINT32:
      return as<arrow::UInt32Array>(array).Value(i);
    case Type::UINT64:
      return as<arrow::UInt64Array>(array).Value(i);
    case Type::DURATION:
      return as<arrow::DurationArray>(array).Value(i);
    case Type::HALF_FLOAT:
      return float_value(arrow::util::Float16::FromBits(as<arrow::HalfFloatArray>(array).Value(i)).ToDouble());
    case Type::FLOAT:
      return float_value(as<arrow::FloatArray>(array).Value(i));
    case Type::DOUBLE:
      return float_value(as<arrow::DoubleArray>(array).Value(i));
    default:
      return text_like_value(array, i);
  }
}

template <class List>
Json list_value(const arrow::Array& array, int64_t i) {
  const auto& list = as<List>(array);
  Json values = Json::array();
  for (int64_t at = list.value_offset(i); at < list.value_offset(i) + list.value_length(i); ++at)
    values.push_back(value_at(*list.values(), at));
  return values;
}

Json dictionary_value(const arrow::DictionaryArray& array, int64_t i) {
  return value_at(*array.dictionary(), array.GetValueIndex(i));
}

Json value_at(const arrow::Array& array, int64_t i) {
  if (array.IsNull(i)) return nullptr;
  using arrow::Type;
  switch (array.type_id()) {
    case Type::STRUCT:
      return struct_value(as<arrow::StructArray>(array), i);
    case Type::MAP:
      return map_value(as<arrow::MapArray>(array), i);
    case Type::LIST:
      return list_value<arrow::ListArray>(array, i);
    case Type::LARGE_LIST:
      return list_value<arrow::LargeListArray>(array, i);
    case Type::FIXED_SIZE_LIST:
      return list_value<arrow::FixedSizeListArray>(array, i);
    case Type::DICTIONARY:
      return dictionary_value(as<arrow::DictionaryArray>(array), i);
    case Type::EXTENSION:
      return value_at(*as<arrow::ExtensionArray>(array).storage(), i);
    default:
      return plain_value(array, i);
  }
}

// --- Parquet ---

void check_fields(const arrow::FieldVector& fields, const std::string& file, int depth) {
  if (depth > kMaxColumnDepth)
    throw user_error("{}: columns are nested more than {} levels deep", file, kMaxColumnDepth);
  std::vector<std::string> names;
  for (const auto& field : fields) {
    if (!arrow::util::ValidateUTF8(field->name())) throw user_error("{}: the name of a column is not UTF-8", file);
    names.push_back(field->name());
    check_fields(field->type()->fields(), file, depth + 1);
  }
  std::ranges::sort(names);
  if (const auto duplicate = std::ranges::adjacent_find(names); duplicate != names.end())
    throw user_error("{}: names the column '{}' twice; rename one", file, *duplicate);
}

/// Returns the rows per batch from the footer's row sizes, which may be wrong.
int64_t choose_batch_rows(const parquet::FileMetaData& metadata) {
  int64_t row_bytes = 1;
  for (int g = 0; g < metadata.num_row_groups(); ++g) {
    const auto group = metadata.RowGroup(g);
    if (group->num_rows() > 0) row_bytes = std::max(row_bytes, group->total_byte_size() / group->num_rows());
  }
  return std::clamp<int64_t>(kBatchBytes / row_bytes, 1, kMaxBatchRows);
}

class ParquetRows : public RowReader {
 public:
  explicit ParquetRows(const std::string& file) : file_(file) {
    arrow::util::InitializeUTF8();
    const auto bytes = open_file(file, &pool_);
    with_location([&] {
      parquet::ReaderProperties reading(&pool_);
      reading.enable_buffered_stream();  // else a column is read for a whole row group, maybe the whole file
      reading.set_buffer_size(kColumnBuffer);
      reading.set_page_checksum_verification(true);
      parquet::ArrowReaderProperties converting(/*use_threads=*/false);
      converting.set_pre_buffer(false);
      parquet::arrow::FileReaderBuilder builder;
      require(builder.Open(bytes, reading), file_);
      builder.memory_pool(&pool_)->properties(converting);
      reader_ = require(builder.Build(), file_);
      std::shared_ptr<arrow::Schema> schema;
      require(reader_->GetSchema(&schema), file_);
      check_fields(schema->fields(), file_, 1);
      reader_->set_batch_size(choose_batch_rows(*reader_->parquet_reader()->metadata()));
    });
  }

  bool next(Json& row) override {
    while (!batch_ || next_row_ == batch_->num_rows())
      if (!read_batch()) return false;
    ++number_;
    row = Json::object();
    const int64_t i = next_row_++;
    for (int c = 0; c < batch_->num_columns(); ++c) try {
        add_new(row, batch_->column_name(c), value_at(*batch_->column(c), i));
      } catch (const UserError& e) {
        throw BadRow(fmt::format("{}:{}: {}: {}", file_, number_, batch_->column_name(c), e.what()));
      }
    return true;
  }
  int64_t number() const override { return number_; }

 private:
  /// Adds the location to all exceptions.
  template <class F>
  void with_location(const F& read) {
    try {
      read();
    } catch (const UserError&) {
      throw;
    } catch (const std::exception& e) {  // parquet::ParquetException, std::bad_alloc, std::length_error
      throw user_error("{}: cannot be read further ({}); fetch or write the file again", location(),
                       first_line(e.what()));
    }
  }
  std::string location() const { return number_ == 0 ? file_ : fmt::format("{}:{}", file_, number_ + 1); }

  /// Reads the next batch; false at the end. Reads single row groups, since Arrow cannot read nested dictionaries
  /// across them.
  bool read_batch() {
    batch_ = nullptr;
    next_row_ = 0;
    while (!batch_ && (batches_ || next_group_ < reader_->num_row_groups()))
      with_location([&] {
        if (!batches_) batches_ = require(reader_->GetRecordBatchReader({next_group_++}), location());
        require(batches_->ReadNext(&batch_), location());
        batch_ ? require(batch_->Validate(), location()) : batches_.reset();
      });
    return batch_ != nullptr;
  }

  std::string file_;
  arrow::CappedMemoryPool pool_{arrow::default_memory_pool(), kMaxArrowBytes};  // must outlive all its allocations
  std::unique_ptr<parquet::arrow::FileReader> reader_;
  int next_group_ = 0;
  std::shared_ptr<arrow::RecordBatchReader> batches_;  // current row group; null: finished
  std::shared_ptr<arrow::RecordBatch> batch_;
  int64_t next_row_ = 0, number_ = 0;
};

// --- gzip and zstd ---

class Decompressed : public ByteStream {
 public:
  Decompressed(const std::string& file, const char* codec) : file_(file) {
    codec_ = require(arrow::util::Codec::Create(require(arrow::util::Codec::GetCompressionType(codec), file)), file);
    stream_ = require(arrow::io::CompressedInputStream::Make(codec_.get(), open_file(file, &pool_), &pool_), file);
  }
  size_t read(char* out, size_t size) override {
    const int64_t count = require(stream_->Read(static_cast<int64_t>(size), out),
                                  fmt::format("{}: after {} bytes of content", file_, num_bytes_));
    num_bytes_ += count;
    return static_cast<size_t>(count);
  }

 private:
  std::string file_;
  arrow::CappedMemoryPool pool_{arrow::default_memory_pool(), kMaxArrowBytes};
  std::unique_ptr<arrow::util::Codec> codec_;
  std::shared_ptr<arrow::io::CompressedInputStream> stream_;
  int64_t num_bytes_ = 0;
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const ArrowLibrary roll_arrow_library;
const ArrowLibrary roll_arrow_library{
    .open_parquet = [](const std::string& file) -> std::unique_ptr<RowReader> {
      return std::make_unique<ParquetRows>(file);
    },
    .open_compressed = [](const std::string& file, const char* codec) -> std::unique_ptr<ByteStream> {
      return std::make_unique<Decompressed>(file, codec);
    }};

}  // namespace roll
